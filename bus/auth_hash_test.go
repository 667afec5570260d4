package bus

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// occupied is a server at which all turns to compare with a hash are taken, and the function that
// gives them back.
func occupied(t *testing.T) (s *Server, free func()) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s, err = New(Config{
		Users:       []User{{Name: "slow", Password: string(hash)}, {Name: "a", Password: "b"}},
		AuthTimeout: time.Hour, PingInterval: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range cap(s.hasher.Slots) {
		s.hasher.Slots <- struct{}{}
	}
	return s, func() {
		for range cap(s.hasher.Slots) {
			<-s.hasher.Slots
		}
	}
}

// pipe connects in process and sends text.
func pipe(t *testing.T, s *Server, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := s.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(conn)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, r
}

// expectText skips the server's own PINGs.
func expectText(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	var got strings.Builder
	for got.Len() < len(want) {
		line, err := r.ReadString('\n')
		if line != "PING\r\n" {
			got.WriteString(line)
		}
		if err != nil {
			break
		}
	}
	if got.String() != want {
		t.Fatalf("got %q, want %q", &got, want)
	}
}

// A client that waits for a comparison with a hash delays no other: other clients are served, and
// so are the earlier bytes of the same read.
func TestHashesHoldNobodyUp(t *testing.T) {
	s, free := occupied(t)
	conn, fast := pipe(t, s, "CONNECT {\"verbose\":false,\"user\":\"a\",\"pass\":\"b\"}\r\nSUB x 1\r\nPING\r\n")
	expectText(t, fast, "PONG\r\n")
	const login = "CONNECT {\"verbose\":false,\"user\":\"a\",\"pass\":\"b\"}\r\nPUB x 1\r\nx\r\n"
	_, good := pipe(t, s, login+"CONNECT {\"user\":\"slow\",\"pass\":\"secret\"}\r\nPING\r\n")
	expectText(t, fast, "MSG x 1 1\r\nx\r\n")
	_, bad := pipe(t, s, login+"CONNECT {\"user\":\"slow\",\"pass\":\"wrong\"}\r\nPING\r\n")
	_, unknown := pipe(t, s, login+"CONNECT {\"user\":\"nobody\",\"pass\":\"secret\"}\r\nPING\r\n")
	expectText(t, fast, "MSG x 1 1\r\nx\r\nMSG x 1 1\r\nx\r\n")
	io.WriteString(conn, "PUB x 1\r\ny\r\nPING\r\n")
	expectText(t, fast, "MSG x 1 1\r\ny\r\nPONG\r\n")
	free()
	expectText(t, good, "PONG\r\n")
	expectText(t, bad, "-ERR 'Authorization Violation'\r\n")
	expectText(t, unknown, "-ERR 'Authorization Violation'\r\n")
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// Neither the end of the server nor that of the connection waits for a comparison.
func TestComparisonsAreGivenUp(t *testing.T) {
	s, free := occupied(t)
	for range 20 {
		pipe(t, s, "CONNECT {\"user\":\"slow\",\"pass\":\"x\"}\r\n")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if n := s.Stats().Closed[AuthenticationFailure]; n != 0 {
		t.Errorf("%d were refused though nobody compared", n)
	}
	free()
}

// A reload that changes many hashes compares as many of them at once as logins do.
func TestReloadComparesHashesAtOnce(t *testing.T) {
	const users, slots = 6, 3
	config := func() (c Config) {
		c.WriteDeadline = time.Hour // the PINGs are not read
		for i := range users {
			hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
			if err != nil {
				t.Fatal(err)
			}
			c.Users = append(c.Users, User{Name: fmt.Sprint("user", i), Password: string(hash)})
		}
		return c
	}
	s, err := New(config())
	if err != nil {
		t.Fatal(err)
	}
	s.hasher.Slots = make(chan struct{}, slots)
	for i := range users {
		_, r := pipe(t, s, fmt.Sprintf("CONNECT {\"verbose\":false,\"user\":\"user%d\",\"pass\":\"secret\"}\r\nPING\r\n", i))
		expectText(t, r, "PONG\r\n")
	}
	for range slots {
		s.hasher.Slots <- struct{}{}
	}
	reloaded := make(chan error)
	go func() { reloaded <- s.Reload(config()) }()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		waiting := strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "auth.(*Hasher).Matches(")
		if waiting == slots {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%d wait for a comparison", waiting)
			break
		}
	}
	for range slots {
		<-s.hasher.Slots
	}
	if err := <-reloaded; err != nil {
		t.Error(err)
	}
	if n := s.Stats().Connections; n != users {
		t.Errorf("%d of %d clients are left", n, users)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
