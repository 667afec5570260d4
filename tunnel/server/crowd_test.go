package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
)

// scale reads a number from the environment, for longer runs; otherwise is the value for each
// check.
func scale(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("%s=%q is no positive number", name, text)
	}
	return n
}

// upgrade turns a visitor's connection into an echo that stays open.
func (p *pair) upgrade() (net.Conn, *bufio.Reader) {
	p.T.Helper()
	conn := dialTCP(p.T, p.Front.Addr().String())
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(conn, "GET /echo HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		p.T.Fatalf("upgrade: %+v, %v", res, err)
	}
	return conn, in
}

// serveEcho is the target's side of upgrade.
func serveEcho(w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_, _ = io.Copy(conn, rw)
}

// echoes reports an error if an upgraded connection does not echo any more.
func echoes(conn net.Conn, in *bufio.Reader, text string) error {
	if _, err := fmt.Fprintln(conn, text); err != nil {
		return err
	}
	if line, err := in.ReadString('\n'); err != nil || line != text+"\n" {
		return fmt.Errorf("%q instead of %q: %w", line, text, err)
	}
	return nil
}

// One client receives as many requests as a tunnel may have, beside hundreds of connections that
// stay open. Neither takes the capacity of the other, requests beyond a bound are refused with its
// reason, and no visitor receives 502.
func TestACrowdAtOneClient(t *testing.T) {
	const bound = tunnel.DefaultTunnelRequests
	open := scale(t, "PADDOCK_TUNNEL_OPEN", 200)
	p := newPair(t, &Server{Limits: tunnel.Limits{VisitorsEach: open + 2*bound, TunnelRequests: bound, TunnelStreams: open}})
	inside, release := make(chan struct{}, bound), make(chan struct{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			serveEcho(w)
		case "/held":
			inside <- struct{}{}
			<-release
		}
	}))
	conns, readers := make([]net.Conn, open), make([]*bufio.Reader, open)
	for i := range conns {
		conns[i], readers[i] = p.upgrade()
	}
	ask := func(path string) int {
		res, err := p.HTTP.Do(p.Request(http.MethodGet, "example.com", path, nil))
		if err != nil {
			t.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.StatusCode
	}
	var held sync.WaitGroup
	for range bound {
		held.Go(func() {
			if status := ask("/held"); status != http.StatusOK {
				t.Errorf("among %d: %d", bound, status)
				inside <- struct{}{}
			}
		})
	}
	for range bound {
		<-inside
	}
	if s := p.server.Stats(); s.Requests != bound || s.Streams != open {
		t.Errorf("%d requests and %d streams are under way", s.Requests, s.Streams)
	}
	if status := ask("/"); status != http.StatusServiceUnavailable {
		t.Errorf("one more request: %d", status)
	}
	if err := echoes(conns[0], readers[0], "beside a full house"); err != nil {
		t.Error(err)
	}
	close(release)
	held.Wait()

	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for range 10 {
				if status := ask("/"); status != http.StatusOK {
					t.Errorf("beside open connections: %d", status)
				}
			}
		})
	}
	load.Wait()
	for i := range conns {
		if err := echoes(conns[i], readers[i], "still here"); err != nil {
			t.Error(i, err)
		}
		_ = conns[i].Close()
	}
	if refused := p.server.Stats().Refused; refused["overloaded"] != 1 || len(refused) != 1 {
		t.Errorf("refused: %v", refused)
	}
}

// beside is the workload of one client in the test and the benchmark below.
type beside struct {
	*pair
	stalled atomic.Int64 // bytes that the target has written for the stalled visitor
	stop    chan struct{}
	wg      sync.WaitGroup
	read    []atomic.Int64 // by each reader
}

// newBeside has a client with a service of endless answers.
func newBeside(p *pair) *beside {
	b := &beside{pair: p, stop: make(chan struct{})}
	piece := make([]byte, 64<<10)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/small":
			_, _ = w.Write(piece[:1000])
		default:
			for n, err := 0, error(nil); err == nil; n, err = w.Write(piece) {
				if r.URL.Path == "/stalled" {
					b.stalled.Add(int64(n))
				}
			}
		}
	}))
	p.T.Cleanup(service.Close)
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: service.Listener.Addr().String()}}})
	return b
}

// begin starts a visitor that never reads its endless answer, and others that read theirs.
func (b *beside) begin(readers int) {
	b.T.Helper()
	ask := func(path string) net.Conn {
		conn, err := net.Dial("tcp", b.Front.Addr().String())
		if err != nil {
			b.T.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: example.com\r\n\r\n", path)
		b.wg.Go(func() {
			<-b.stop
			_ = conn.Close()
		})
		return conn
	}
	ask("/stalled")
	b.read = make([]atomic.Int64, readers)
	for i := range b.read {
		conn := ask("/bulk")
		b.wg.Go(func() {
			room := make([]byte, 256<<10)
			for {
				n, err := conn.Read(room)
				if b.read[i].Add(int64(n)); err != nil {
					return
				}
			}
		})
	}
}

// everyone reports whether all readers have received n bytes more than before.
func (b *beside) everyone(before []int64, n int64) bool {
	for i := range b.read {
		if b.read[i].Load() < before[i]+n {
			return false
		}
	}
	return true
}

func (b *beside) sofar() (all []int64) {
	for i := range b.read {
		all = append(all, b.read[i].Load())
	}
	return all
}

func (b *beside) end() {
	close(b.stop)
	b.wg.Wait()
}

// A visitor that does not read its answer fills its own window and no more, and delays no other
// visitor: others read on, and every small request beside them is answered. BenchmarkSmallBeside
// measures the slowdown.
func TestOneWhoDoesNotRead(t *testing.T) {
	// Socket buffers of loopback take some MiB at each of three sockets, and the window of
	// a stream grows to 16 MiB at most.
	const most = 48 << 20
	b := newBeside(newPair(t, &Server{}))
	b.begin(8)
	defer b.end()
	b.Eventually("not everyone has begun", func() bool { return b.everyone(make([]int64, len(b.read)), 256<<10) })
	begun := b.sofar()
	var small sync.WaitGroup
	for range 8 {
		small.Go(func() {
			for range 15 {
				if res, body := b.Get("example.com", "/small"); res.StatusCode != 200 || len(body) != 1000 {
					t.Errorf("%d, %d bytes", res.StatusCode, len(body))
				}
			}
		})
	}
	small.Wait()
	b.Eventually("somebody reads and gets nothing more", func() bool { return b.everyone(begun, 512<<10) })
	if n := b.stalled.Load(); n > most {
		t.Errorf("the target has written %d MiB for who reads nothing", n>>20)
	}
	if refused := b.server.Stats().Refused; len(refused) != 0 {
		t.Errorf("refused: %v", refused)
	}
}
