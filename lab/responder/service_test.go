package responder_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/responder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asking is a connection to a service, as a person would write to it.
type asking struct {
	net.Conn
	in *bufio.Reader
}

func ask(t *testing.T, s *responder.Service, text string) *asking {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_, _ = io.WriteString(c, text)
	return &asking{c, bufio.NewReader(c)}
}

// answers are those until the connection ends, or so many.
func (a *asking) answers(n int) (all []*http.Response, err error) {
	for range n {
		r, err := http.ReadResponse(a.in, nil)
		if err != nil {
			return all, err
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

const get = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"

// An answer is HTTP, and of the size that was asked for.
func TestAnswer(t *testing.T) {
	for _, size := range []int{0, 130, 150, 200, 1000, 1 << 16} {
		s, _ := serve(t, responder.Config{Size: size})
		a := ask(t, s, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		all, err := io.ReadAll(a)
		want := cmp.Or(size, responder.AnswerSize)
		if err != nil || len(all) != want {
			t.Errorf("%d bytes, want %d; %v", len(all), want, err)
		}
		if r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(all)), nil); err != nil || r.StatusCode != 200 || !r.Close {
			t.Errorf("%v, %v", r, err)
		}
	}
	for _, size := range []int{1, 100, 2 << 20, -1} {
		if s, err := responder.Serve(responder.Config{Size: size}); err == nil {
			t.Errorf("a size of %d", size)
			_, _ = s.Close()
		}
	}
}

// Requests are found wherever the bytes are split, bodies passed over, and their numbers read.
func TestRequests(t *testing.T) {
	text := get + "POST /a/b/22 HTTP/1.1\r\ncontent-length: 5\r\n\r\n12345" + "GET /x3 HTTP/1.1\r\n\r\n" + "GET http://h/4 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" + "GET / HTTP/1.0\r\n\r\n"
	for split := range len(text) {
		s, stop := serve(t, responder.Config{Journal: 5})
		a := ask(t, s, text[:split])
		_, _ = io.WriteString(a, text[split:])
		got, err := a.answers(6)
		if len(got) != 5 || err != io.EOF && err != io.ErrUnexpectedEOF || got[3].Close || !got[4].Close {
			t.Fatalf("split at %d: %d answers, %v", split, len(got), err)
		}
		var numbers []int64
		for _, e := range stop().Journal {
			numbers = append(numbers, e.Number)
		}
		if fmt.Sprint(numbers) != "[1 22 -1 4 -1]" {
			t.Fatalf("split at %d: %v", split, numbers)
		}
	}
}

// An invalid request ends its connection, and is counted.
func TestNoRequest(t *testing.T) {
	for _, text := range []string{
		"hello\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 128<<10),
	} {
		s, stop := serve(t, responder.Config{})
		a := ask(t, s, text)
		if got, err := a.answers(1); err == nil {
			t.Errorf("%.40q has %d answers", text, len(got))
		}
		if did := stop(); did.Unread != 1 || did.Answers != 0 {
			t.Errorf("%.40q: %+v", text, did)
		}
	}
}

// Answers come in the order of the requests, however they are due, and none before it is.
func TestOrder(t *testing.T) {
	law, err := responder.NewDrawn(3, responder.Point{Share: 0}, responder.Point{Share: 1, Time: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s, stop := serve(t, responder.Config{Law: law, Journal: 100})
	a := ask(t, s, strings.Repeat(get, 100))
	if got, err := a.answers(100); len(got) != 100 {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	did := stop()
	for i, e := range did.Journal {
		if e.Answered < e.Due || e.Due < e.Arrived || i > 0 && e.Answered < did.Journal[i-1].Answered {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if did.Requests != 100 || did.Answers != 100 || did.Late.Count() != 100 || did.Conns != 1 {
		t.Errorf("%+v", did)
	}
}

// Beyond the bound connections are closed, and counted.
func TestMaxConns(t *testing.T) {
	s, stop := serve(t, responder.Config{MaxConns: 1})
	a := ask(t, s, get)
	if _, err := a.answers(1); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, s, "").answers(1); err == nil {
		t.Errorf("a second connection has %v", got)
	}
	if did := stop(); did.Refused != 1 || did.Conns != 1 {
		t.Errorf("%+v", did)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]responder.Config{
		"address":      {Address: "localhost:1"},
		"below 0":      {Journal: -1},
		"speed":        {Law: &responder.Queue{}},
		"never awake":  {Law: &responder.Queue{PerSecond: 1, Frozen: time.Second, Every: time.Second}},
		"not our host": {Address: "192.0.2.1:1"},
	} {
		if s, err := responder.Serve(c); err == nil {
			t.Errorf("%s: no error", name)
			_, _ = s.Close()
		}
	}
}
