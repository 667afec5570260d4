package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// plaza is an island with a front and a service, all in memory, so that the times of
// slow visitors are exact.
type plaza struct {
	*island
	visits chan net.Conn // not buffered: they are accepted at once
	shut   chan struct{}
	wg     sync.WaitGroup
}

// onPlaza runs a test in memory, with a client whose service is h, on a server that set configures.
func onPlaza(t *testing.T, limits tunnel.Limits, h http.Handler, test func(*plaza), set ...func(*http.Server)) {
	t.Helper()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, func(t *testing.T) {
		p := &plaza{island: newIsland(t, limits), visits: make(chan net.Conn), shut: make(chan struct{})}
		p.wg.Go(func() { _ = p.server.Serve(&islandListener{p.visits, p.shut, sync.Once{}}, nil) })
		targets := make(chan net.Conn)
		service := &http.Server{Handler: h}
		for _, set := range set {
			set(service)
		}
		p.wg.Go(func() { _ = service.Serve(&islandListener{targets, make(chan struct{}), sync.Once{}}) })
		c, err := client.New(client.Config{Logger: silent, Tunnels: []client.Tunnel{{
			Name: "web", Protocol: tunnel.HTTP, Host: "example.com",
			Dial: func(context.Context) (net.Conn, error) {
				near, far := wiretest.Pipe(64 << 10)
				targets <- far
				return near, nil
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p.wg.Go(func() {
			_ = c.Run(ctx, wire.ClientConfig{Dial: p.dialer("web", nil), Config: &wire.Config{Agent: "web", Logger: silent, Idle: liveness}})
		})
		synctest.Wait()
		test(p)
		cancel()
		p.kill()
		_ = service.Close()
		p.wg.Wait()
	})
}

// walker is a visitor in memory.
type walker struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// walkIn connects a visitor with this address.
func (p *plaza) walkIn(from string) *walker {
	p.t.Helper()
	near, far := wiretest.Pipe(64 << 10)
	p.visits <- &arrived{far, &net.TCPAddr{IP: net.ParseIP(from), Port: 1}}
	synctest.Wait()
	return &walker{near, p.t, bufio.NewReader(near)}
}

// arrived is the far end of a walker's connection.
type arrived struct {
	net.Conn
	from net.Addr
}

func (a *arrived) RemoteAddr() net.Addr { return a.from }
func (a *arrived) CloseWrite() error    { return a.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// trickle writes a text in pieces, one each second, until the end or an error.
func (w *walker) trickle(text string, piece int) {
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return
		}
		text = text[n:]
		<-time.After(time.Second)
	}
}

// got reads to the end of the connection, and returns the time since begun.
func (w *walker) got(begun time.Time) (text string, took time.Duration) {
	b, _ := io.ReadAll(w.in)
	took = time.Since(begun)
	_ = w.Close()
	return string(b), took
}

// servedAtOnce checks that a fast visitor does not wait for others.
func (p *plaza) servedAtOnce(from string) {
	p.t.Helper()
	w, begun := p.walkIn(from), time.Now()
	defer synctest.Wait()
	defer w.Close()
	fmt.Fprint(w, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	res, err := http.ReadResponse(w.in, nil)
	if err != nil || res.StatusCode != http.StatusOK || time.Since(begun) > 0 {
		p.t.Errorf("a visitor who is not slow: %+v, %v, after %v", res, err, time.Since(begun))
	}
}

// Each kind of slow visitor ends at its deadline, with an answer if one is possible, and not
// before. A visitor within its deadlines is served, however slow. Other visitors are not affected.
func TestSlowVisitors(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: %d\r\n\r\n"
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/talk" {
			_ = http.NewResponseController(w).EnableFullDuplex()
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/talk":
			return
		case "/late":
			<-r.Context().Done()
			return
		case "/":
			return
		}
		for piece := make([]byte, 16<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	for _, c := range []struct {
		name   string
		first  string // that is sent at once
		rest   string // that is sent bit by bit
		piece  int    // in a second
		reads  bool
		begins string        // how the answer does
		after  time.Duration // the connection ends
	}{
		{"says nothing", "", "", 0, true, "", 10 * time.Second},
		{"a byte of the head each second", "", "GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", 100), 1, true, "HTTP/1.1 408 ", 10 * time.Second},
		{"a byte of a short body each second", fmt.Sprintf(post, 1000), strings.Repeat("x", 1000), 1, true, "HTTP/1.1 408 ", 10 * time.Second},
		{"a long body at 400 bytes each second", fmt.Sprintf(post, 100_000), strings.Repeat("x", 100_000), 400, true, "HTTP/1.1 408 ", 10 * time.Second},
		{"a long body at 600 bytes each second", fmt.Sprintf(post, 39_000), strings.Repeat("x", 39_000), 600, true, "HTTP/1.1 200 ", 65*time.Second + 75*time.Second},
		{
			"a long body, and then the service is late", "POST /late HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 36000\r\n\r\n",
			strings.Repeat("x", 36_000), 600, true, "HTTP/1.1 504 ", 59*time.Second + 60*time.Second,
		},
		{
			"a body of unknown length, six bytes each second", "POST / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n",
			strings.Repeat("1\r\nx\r\n", 200), 6, true, "HTTP/1.1 408 ", 60 * time.Second,
		},
		{
			"such a body once there is an answer", "POST /talk HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
			strings.Repeat("1\r\nx\r\n", 200) + "0\r\n\r\n", 6, true, "HTTP/1.1 200 ", 200 * time.Second,
		},
		{"no second request", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "", 0, true, "HTTP/1.1 200 ", 75 * time.Second},
		{"half of a second request", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\nGET", "", 0, true, "HTTP/1.1 200 ", 10 * time.Second},
		{"reads nothing", "GET /endless HTTP/1.1\r\nHost: example.com\r\n\r\n", "", 0, false, "", 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
				begun := time.Now()
				var visits sync.WaitGroup
				for i := range 8 {
					w := p.walkIn(fmt.Sprintf("192.0.2.%d", i))
					visits.Go(func() {
						_, _ = io.WriteString(w, c.first)
						w.trickle(c.rest, c.piece)
					})
					visits.Go(func() {
						if !c.reads {
							time.Sleep(c.after + 5*time.Second)
							if n := p.server.Stats(); n.Visitors != 0 || n.Streams != 0 {
								t.Errorf("after %v there are %d visitors and %d streams", time.Since(begun), n.Visitors, n.Streams)
							}
							_ = w.Close()
							return
						}
						text, took := w.got(begun)
						if !strings.HasPrefix(text, c.begins) || c.begins == "" && text != "" {
							t.Errorf("%.40q", text)
						}
						// Deadlines between requests are moved by sixteenths; the rate is that of
						// the last 10 s.
						if took < c.after-c.after/16 || took > c.after+time.Second {
							t.Errorf("ended after %v, not %v", took, c.after)
						}
					})
				}
				for range 5 {
					p.servedAtOnce("198.51.100.1")
					time.Sleep(time.Second)
				}
				visits.Wait()
				synctest.Wait()
				if n := p.server.Stats(); n.Visitors != 0 || n.Requests != 0 || n.Streams != 0 || n.Bytes != 0 {
					t.Errorf("%+v is left", n)
				}
			})
		})
	}
}

// A head that does not come in time, or is too long, is refused as what it is: none of what an
// earlier request was is left in the refusal, nor bytes that have come since.
func TestRefusedHeadHasNothingOfAnEarlierOne(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for status, rest := range map[int]string{
		408: "GET /secret-of-a-visitor-of-another-host",
		431: "GET / HTTP/1.1\r\nHost: example.com\r\nA: " + strings.Repeat("a", h1.MaxVisitorHead),
	} {
		onPlaza(t, tunnel.Limits{}, ok, func(p *plaza) {
			var refusal Refusal
			p.server.Hooks.Refused = func(f Refusal) { refusal = f }
			w, begun := p.walkIn("192.0.2.1"), time.Now()
			go func() { _, _ = io.WriteString(w, "HEAD / HTTP/1.1\r\nHost: example.com\r\n\r\n"+rest) }()
			text, _ := w.got(begun)
			_, text, _ = strings.Cut(text, "\r\n\r\n")
			if head, body, _ := strings.Cut(text, "\r\n\r\n"); !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", status)) || body == "" {
				t.Errorf("%.40q, and then %q", head, body)
			}
			if refusal.Status != status || refusal.Host != "" {
				t.Errorf("%d was refused as of %q", refusal.Status, refusal.Host)
			}
		})
	}
}

// Bodies that are still to come take no request's place, however many are awaited; once
// they are here they are requests like any other, and counted once.
func TestAwaitedBodiesTakeNoRoom(t *testing.T) {
	service := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	onPlaza(t, tunnel.Limits{Requests: 2, TunnelRequests: 2, TunnelStreams: 5}, service, func(p *plaza) {
		var slow []*walker
		for range 5 {
			w := p.walkIn("192.0.2.1")
			fmt.Fprint(w, "POST / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf ")
			slow = append(slow, w)
		}
		synctest.Wait()
		if n := p.server.Stats(); n.Streams != 5 || n.Requests != 0 {
			t.Errorf("%d wait as streams, %d as requests", n.Streams, n.Requests)
		}
		p.servedAtOnce("192.0.2.2")
		over := p.walkIn("192.0.2.3")
		fmt.Fprint(over, "POST / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf ")
		if text, _ := over.got(time.Now()); !strings.HasPrefix(text, "HTTP/1.1 503 ") {
			t.Errorf("one too many: %.40q", text)
		}
		for _, w := range slow {
			fmt.Fprint(w, "a one")
			if text, took := w.got(time.Now()); !strings.HasPrefix(text, "HTTP/1.1 200 ") || took != 0 {
				t.Errorf("whose body came: %.40q after %v", text, took)
			}
		}
		whole := p.walkIn("192.0.2.4")
		fmt.Fprint(whole, "POST / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 5\r\n\r\nwhole")
		if text, _ := whole.got(time.Now()); !strings.HasPrefix(text, "HTTP/1.1 200 ") {
			t.Errorf("a body that came with its head: %.40q", text)
		}
		synctest.Wait()
		if n := p.server.Stats(); n.Begun != (AdmittedCounts{Requests: 7}) || n.Requests != 0 || n.Streams != 0 || n.Bytes != 0 {
			t.Errorf("%+v", n)
		}
	})
}

// A request whose body was awaited counts once towards the bound of its client, not twice.
func TestAwaitedBodyIsOneOfItsShare(t *testing.T) {
	p := newPair(t, &Server{MaxInflight: func(string) int { return 1 }})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	for range 2 {
		conn := dialTCP(t, p.Front.Addr().String())
		fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf ")
		p.Eventually("the body is not awaited", func() bool { return p.server.Stats().Streams == 1 })
		fmt.Fprint(conn, "a one")
		if text, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(text), "half a one") {
			t.Errorf("%q, %v", text, err)
		}
		p.idle()
	}
}

// Visitors that take no bytes of long answers do not delay others on the link: their waiting bytes
// do not use up the window of other answers.
func TestStalledVisitorsLeaveTheLinkFree(t *testing.T) {
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := 0; r.URL.Path != "/" && (r.URL.Path == "/endless" || n < 64); n++ {
			if _, err := w.Write(make([]byte, 16<<10)); err != nil {
				return
			}
		}
	})
	onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
		var stalled []*walker
		for i := range 300 { // more than 16 MiB in all
			w := p.walkIn(fmt.Sprintf("192.0.2.%d", i%200))
			fmt.Fprint(w, "GET /endless HTTP/1.1\r\nHost: example.com\r\n\r\n")
			stalled = append(stalled, w)
			if i%100 == 99 {
				time.Sleep(paceTaken)
			}
		}
		synctest.Wait()
		if n := p.server.Stats(); n.Streams != len(stalled) {
			t.Fatalf("%d of %d were let in: %+v", n.Streams, len(stalled), n.Refused)
		}
		p.servedAtOnce("198.51.100.1")
		w, begun := p.walkIn("198.51.100.2"), time.Now()
		fmt.Fprint(w, "GET /megabyte HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
		if text, _ := w.got(begun); len(text) < 1<<20 || time.Since(begun) > 0 {
			t.Errorf("%d bytes after %v", len(text), time.Since(begun))
		}
		for _, w := range stalled {
			_ = w.Close()
		}
		synctest.Wait()
	})
}

// Connections are bounded for each address and in total. A visitor over a bound is dropped at once
// and counted, and new ones are accepted when others have left.
func TestManyVisitors(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	onPlaza(t, tunnel.Limits{Visitors: 30, VisitorsEach: 20}, ok, func(p *plaza) {
		var there []*walker
		come := func(from string, n, want int) {
			before := p.server.Stats().Visitors
			for range n {
				there = append(there, p.walkIn(from))
			}
			if got := p.server.Stats().Visitors - before; got != want {
				p.t.Errorf("%d of %d from %s were let in, want %d", got, n, from, want)
			}
		}
		come("192.0.2.1", 50, 20)
		p.servedAtOnce("192.0.2.2")
		come("192.0.2.2", 15, 10) // 30 in all
		come("192.0.2.3", 1, 0)
		if n := p.server.Stats().Refused["overloaded"]; n != 30+5+1 {
			p.t.Errorf("%d were counted as refused", n)
		}
		if text, took := there[49].got(time.Now()); text != "" || took != 0 {
			p.t.Errorf("one too many got %q after %v", text, took)
		}
		for _, w := range there {
			_ = w.Close()
		}
		synctest.Wait()
		p.server.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("203.0.113.1/32")}
		there = nil
		come("203.0.113.1", 40, 30) // a proxy stands for many
		for _, w := range there {
			_ = w.Close()
		}
		synctest.Wait()
		p.servedAtOnce("192.0.2.1")
	})
}

// One machine may choose from 2^64 addresses of IPv6: they count as one address. A proxy among them
// takes none of its neighbours' places, and gives none back.
func TestManyVisitorsOfOneNetwork(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	onPlaza(t, tunnel.Limits{Visitors: 30, VisitorsEach: 2}, ok, func(p *plaza) {
		const proxy = "2001:db8::1"
		p.server.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(proxy + "/128")}
		var there []*walker
		for _, from := range []string{proxy, "2001:db8::2", "2001:db8::3", "2001:db8::4", "2001:db8::5", proxy, "2001:db8:0:1::2"} {
			there = append(there, p.walkIn(from))
		}
		if s := p.server.Stats(); s.Visitors != 5 || s.Overloads["visitors each"] != 2 {
			t.Errorf("%d were let in, %d were refused", s.Visitors, s.Overloads["visitors each"])
		}
		_ = there[0].Close()
		synctest.Wait()
		there = append(there, p.walkIn("2001:db8::6"))
		if s := p.server.Stats(); s.Visitors != 4 {
			t.Errorf("a proxy that left made room for a neighbour: there are %d", s.Visitors)
		}
		for _, w := range there {
			_ = w.Close()
		}
		synctest.Wait()
		if n := len(p.server.visitorConns.each); n != 0 || p.server.visitorConns.now() != 0 {
			t.Errorf("%d networks are remembered", n)
		}
	})
}
