package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/platform/position"
	"paddock/internal/process/lifecycle"
	"paddock/wire"
)

// patience bounds every wait; it is never the expected outcome.
const patience = 30 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// platform simulates `paddock up`: it records received positions, and remembers sessions until it
// is killed.
type platform struct {
	t    *testing.T
	addr string

	mu      sync.Mutex
	life    *wire.Server // nil: down
	serving sync.WaitGroup
	got     []string // positions, in order of arrival
	skipped int
	arrived chan struct{} // closed and replaced when positions arrive
	stall   chan struct{} // not nil: positions are applied, but not acknowledged until it is closed
	mux     func(*wire.Mux)
}

// ownAddress is where platforms listen. Connections to loopback addresses come from 127.0.0.1, so
// none of them takes the port of a platform that is down for a while.
const ownAddress = "127.0.0.2:0"

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{t: t, addr: ownAddress, arrived: make(chan struct{})}
	p.start()
	t.Cleanup(p.kill)
	return p
}

// start starts the platform at the same address, without the memory of its last life.
func (p *platform) start() {
	p.t.Helper()
	var l net.Listener
	var err error
	for range 100 { // the old address may still be in use for a moment
		if l, err = net.Listen("tcp", p.addr); err == nil {
			break
		}
	}
	must(p.t, err)
	p.addr = l.Addr().String()
	life := &wire.Server{Config: &wire.Config{Mux: p.serves(), Sessions: new(wire.Sessions), Logger: slog.New(slog.DiscardHandler)}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life = life
	p.serving.Go(func() { _ = life.Serve(l) })
}

// serves returns the handlers of a life.
func (p *platform) serves() *wire.Mux {
	mux := wire.NewMux()
	mux.HandlePosts(kindUpdate, p.update)
	mux.HandlePosts(kindSkip, func(_ context.Context, posts *wire.Posts) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.skipped += posts.Len()
		return nil
	})
	if p.mux != nil {
		p.mux(mux)
	}
	return mux
}

func (p *platform) update(ctx context.Context, posts *wire.Posts) error {
	p.mu.Lock()
	for _, body := range posts.All() {
		at, err := position.Parse(body)
		if err != nil {
			p.t.Errorf("%x: %v", body, err)
		}
		p.got = append(p.got, fmt.Sprintf("%s@%d", at.ID, at.Time))
	}
	close(p.arrived)
	p.arrived = make(chan struct{})
	stall := p.stall
	p.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// kill ends the life at once, with all its memory.
func (p *platform) kill() {
	p.mu.Lock()
	life := p.life
	p.life = nil
	p.mu.Unlock()
	if life != nil {
		for c := range life.All() {
			c.Abort(wire.Internal)
		}
		_ = life.Close()
		p.serving.Wait()
	}
}

// cut breaks the connections.
func (p *platform) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.life.All() {
		c.Abort(wire.Unavailable)
	}
}

// await waits until n positions have arrived, and returns all.
func (p *platform) await(n int) []string {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		got, arrived := p.got, p.arrived
		p.mu.Unlock()
		if len(got) >= n {
			return append([]string(nil), got...)
		}
		select {
		case <-arrived:
		case <-timeout:
			p.t.Fatalf("%d of %d positions have come", len(got), n)
		}
	}
}

// running is an agent that runs until the test ends or stop.
type running struct {
	*Agent
	t    *testing.T
	stop func()
}

// settings returns the settings of an agent of p, with further lines of the file.
func (p *platform) settings(dir, more string) *Settings {
	p.t.Helper()
	token := ""
	if strings.HasPrefix(more, "tunnels:") { // they need a token without TLS
		file := filepath.Join(p.t.TempDir(), "token")
		must(p.t, os.WriteFile(file, []byte("agent:secret\n"), 0o600))
		token = fmt.Sprintf(", token_file: %q", file)
	}
	text := fmt.Sprintf("connect: {server: %q, plaintext: true%s}\nbuffer: {dir: %q}\nhttp: {listen: \"127.0.0.1:0\"}\nbackoff: {interval: 1ms, max_interval: 20ms}\n", p.addr, token, dir)
	s, err := Read("agent.yaml", []byte(text+more), func(string) (string, bool) { return "", false })
	must(p.t, err)
	return s
}

func start(t *testing.T, s *Settings) *running {
	t.Helper()
	return startWith(t, Options{Settings: s})
}

func startWith(t *testing.T, o Options) *running {
	t.Helper()
	o.Agent, o.Logger = "test", slog.New(slog.DiscardHandler)
	a, err := New(o)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	group := &lifecycle.Group{Logger: slog.New(slog.DiscardHandler), Signals: make(chan os.Signal)}
	a.AddTo(group)
	ready, ended := make(chan struct{}), make(chan error, 1)
	group.Add(lifecycle.Service{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	go func() { ended <- group.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return &running{a, t, stop}
}

// do sends a request to the local endpoint.
func (r *running) do(method, path, body string) (status int, answer string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.HTTP().String()+path, strings.NewReader(body))
	must(r.t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	must(r.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(r.t, err)
	return resp.StatusCode, string(text)
}

// post posts positions of one object, at these times.
func (r *running) post(from, to int) {
	r.t.Helper()
	r.postWith(from, to, "")
}

// postWith is post with further members.
func (r *running) postWith(from, to int, members string) {
	r.t.Helper()
	var body strings.Builder
	for at := from; at < to; at++ {
		fmt.Fprintf(&body, `{"id":"v","lon":1,"lat":2,"t":%d%s}`+"\n", firstTime+at, members)
	}
	if status, answer := r.do("POST", "/v1/positions", body.String()); status != http.StatusAccepted {
		r.t.Fatalf("%d %s", status, answer)
	}
}

// firstTime is a time in milliseconds that does not look like seconds.
const firstTime = 1_700_000_000_000

// sequence checks that the positions of post(0, n) have arrived in order, once.
func sequence(t *testing.T, got []string, n int) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%d positions have come, want %d", len(got), n)
	}
	for i, g := range got {
		if want := fmt.Sprintf("v@%d", firstTime+i); g != want {
			t.Fatalf("position %d is %s, want %s", i, g, want)
		}
	}
}
