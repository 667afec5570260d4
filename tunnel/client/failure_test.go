package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"paddock/internal/process/logbound"
	"paddock/tunnel"
	"paddock/tunnel/internal/tunneltest"
	"paddock/tunnel/server"
	"paddock/wire"
)

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines returns those with a text in them.
func (j *journal) lines(with string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// failures records the calls of OnFailed.
type failures struct {
	mu  sync.Mutex
	all []Failure // guarded by mu
}

func (f *failures) add(x Failure) {
	x.Request = bytes.Clone(x.Request)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, x)
}

func (f *failures) take() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.all
	f.all = nil
	return all
}

// A service that is down, or breaks off, is reported at the client: in its log, and with the
// request to OnFailed.
func TestFailuresAreTold(t *testing.T) {
	gone := tunneltest.Listen(t)
	_ = gone.Close()
	broken := tunneltest.Listen(t)
	defer broken.Close()
	go func() { // until the listener is closed
		for {
			conn, err := broken.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_ = conn.Close()
		}
	}()
	p := newPair(t, &server.Server{})
	var log journal
	var told failures
	c, stop := p.client(Config{Logger: log.logger(), OnFailed: told.add, Tunnels: []Tunnel{
		{Name: "down", Protocol: tunnel.HTTP, Host: "down.example", Target: gone.Addr().String()},
		{Name: "h2c", Protocol: tunnel.HTTP, Host: "h2c.example", Target: "h2c://" + gone.Addr().String()},
		{Name: "broken", Protocol: tunnel.HTTP, Host: "broken.example", Target: broken.Addr().String()},
		{Name: "raw", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: gone.Addr().String()},
	}})
	for _, x := range []struct {
		tunnel, method string
		body           io.Reader
		request        string
		reached        bool
		logged         string
	}{
		{"down", "POST", strings.NewReader("hello"), "POST /a?b=c HTTP/1.1\r\nHost: down.example\r\n|\r\n\r\nhello", false, "connection refused"},
		{"h2c", "GET", nil, "GET /a?b=c HTTP/1.1\r\nHost: h2c.example\r\n|\r\n\r\n", false, "connection refused"},
		{"broken", "POST", io.MultiReader(strings.NewReader("hello")), "POST /a?b=c HTTP/1.1\r\nHost: broken.example\r\n|\r\n\r\n", true, "ended the connection before its answer"},
	} {
		if res, _ := p.Do(p.Request(x.method, x.tunnel+".example", "/a?b=c", x.body)); res.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %d", x.tunnel, res.StatusCode)
		}
		all := told.take()
		if len(all) != 1 {
			t.Fatalf("%s: told of %+v", x.tunnel, all)
		}
		first, last, _ := strings.Cut(x.request, "|")
		if f := all[0]; f.Tunnel != x.tunnel || f.Reached != x.reached || !strings.HasPrefix(string(f.Request), first) ||
			!strings.HasSuffix(string(f.Request), last) || !strings.Contains(f.Err.Error(), x.logged) {
			t.Errorf("%s: told %+v, %q", x.tunnel, f, f.Request)
		}
		lines := log.lines("tunnel=" + x.tunnel + " method=" + x.method)
		if len(lines) != 1 || !strings.Contains(lines[0], "host="+x.tunnel+".example path=/a ") || !strings.Contains(lines[0], x.logged) {
			t.Errorf("%s: logged %q", x.tunnel, lines)
		}
	}
	if raw, err := net.Dial("tcp", c.Bindings()[3].Where); err == nil { // else the reset was faster
		_, _ = io.ReadAll(raw)
		_ = raw.Close()
	}
	if lines := log.lines("is not served"); len(lines) != 4 || !strings.Contains(lines[3], "tunnel=raw ") || !strings.Contains(lines[3], "connection refused") {
		t.Errorf("raw: logged %q", lines)
	}
	stop()
}

// A flood of failures is logged up to a number of lines a second; OnFailed is called for each.
func TestFailuresAreLoggedWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		var told failures
		c, err := New(Config{Logger: log.logger(), OnFailed: told.add, Tunnels: []Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "a.example", Target: "1"}}})
		if err != nil {
			t.Fatal(err)
		}
		for range logbound.PerSecond + 7 {
			c.failed(c.of(1), nil, &Failure{Err: wire.ErrNoConn})
		}
		if n := len(log.lines("is not served")); n != logbound.PerSecond || len(told.take()) != n+7 {
			t.Errorf("%d lines", n)
		}
	})
}

// A visitor that leaves is not counted as a failure of the service.
func TestLeavingIsNoFailure(t *testing.T) {
	p := newPair(t, &server.Server{})
	came, leave := make(chan struct{}), make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(leave)
	}))
	defer backend.Close()
	var log journal
	var told failures
	_, stop := p.client(Config{Logger: log.logger(), OnFailed: told.add, Tunnels: []Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "a.example", Target: backend.Listener.Addr().String()}}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	if res, err := p.HTTP.Do(p.Request(http.MethodGet, "a.example", "/", nil).WithContext(ctx)); err == nil {
		_ = res.Body.Close()
		t.Error("answered")
	}
	<-leave
	p.idle()
	stop()
	if all := told.take(); len(all) != 0 || len(log.lines("is not served")) != 0 {
		t.Errorf("told of %+v", all)
	}
}

// A service that accepts only names of its own is reported once, with the remedy; if the tunnel
// sets HostHeader already, it is not reported.
func TestMisdirectedServiceIsTold(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMisdirectedRequest) })
	backend := httptest.NewUnstartedServer(refuse)
	backend.Config.Protocols = new(http.Protocols)
	backend.Config.Protocols.SetHTTP1(true)
	backend.Config.Protocols.SetUnencryptedHTTP2(true)
	backend.Start()
	defer backend.Close()
	at := backend.Listener.Addr().String()
	p := newPair(t, &server.Server{})
	var log journal
	_, stop := p.client(Config{Logger: log.logger(), Tunnels: []Tunnel{
		{Name: "own", Protocol: tunnel.HTTP, Host: "a.example", Target: at},
		{Name: "h2c", Protocol: tunnel.HTTP, Host: "b.example", Target: "h2c://" + at},
		{Name: "given", Protocol: tunnel.HTTP, Host: "c.example", Target: at, HostHeader: "d.example"},
	}})
	for _, host := range []string{"a.example", "b.example", "c.example"} {
		for _, body := range []io.Reader{nil, strings.NewReader("x"), io.MultiReader(strings.NewReader("x"))} {
			if res, _ := p.Do(p.Request(http.MethodPost, host, "/", body)); res.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s: %d", host, res.StatusCode)
			}
		}
	}
	stop()
	if lines := log.lines("--host-header localhost"); len(lines) != 2 || !strings.Contains(lines[0], "tunnel=own host=a.example ") || !strings.Contains(lines[1], "tunnel=h2c host=b.example ") {
		t.Errorf("logged %q", lines)
	}
}
