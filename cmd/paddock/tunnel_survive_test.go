//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"paddock/internal/keyid"
)

// These tests are about what a tunnel's processes live through: kill -9 of either, a path
// that swallows everything, and visitors for whom there are no descriptors. They use what
// a user has: commands, sockets, metrics.

// standing is a tunnel of processes that are started again at the same place.
type standing struct {
	t      *testing.T
	ctx    context.Context
	dir    string
	key    *keyid.Key
	target *httptest.Server
	http   *http.Client

	server, client         *tunnelProcess
	id, link, front, admin string   // of the server
	allow                  string   // what the client may have
	more                   []string // flags of the server
}

// newStanding has a service, and keys; neither side runs.
func newStanding(ctx context.Context, t *testing.T) *standing {
	t.Helper()
	s := &standing{t: t, ctx: ctx, dir: t.TempDir(), allow: "app.example", link: "127.0.0.1:0", front: "127.0.0.1:0", admin: "127.0.0.1:0"}
	s.target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	s.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: killTime}
	t.Cleanup(s.target.Close)
	var err error
	if s.key, err = keyid.Make(filepath.Join(s.dir, "client.key")); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts the server, the first time at free ports, then at the same ones. With
// descriptors, that is how many it may have open.
func (s *standing) serve(descriptors int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.ctx, "paddock")
	if descriptors > 0 {
		cmd = exec.CommandContext(s.ctx, "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec paddock "$@"`, descriptors), "sh")
	}
	cmd.Args = append(cmd.Args, "tunnel", "serve", "--listen", s.link, "--http", s.front, "--admin", s.admin,
		"--key", filepath.Join(s.dir, "server.key"), "--control", "off", "--allow", s.key.ID.String()+"="+s.allow)
	cmd.Args = append(cmd.Args, s.more...)
	s.server = startTunnelAs(s.t, cmd)
	s.id, s.link, s.front = s.server.line("id:"), s.server.line("clients:"), s.server.line("visitors: http://")
	s.admin = s.server.line("admin:    http://")
}

// connect starts a client that finds the server at link, and waits until it has its name.
func (s *standing) connect(link string) *tunnelProcess {
	s.t.Helper()
	c := startTunnel(s.ctx, s.t, "http", s.target.Listener.Addr().String(), "--host", "app.example",
		"--server", link, "--server-id", s.id, "--key", filepath.Join(s.dir, "client.key"))
	c.line("http://app.example")
	return c
}

// visit is nil if a visitor is served.
func (s *standing) visit() error {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+s.front, nil)
	if err != nil {
		return err
	}
	r.Host = "app.example"
	res, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || string(b) != "here" {
		return fmt.Errorf("%s %q %w", res.Status, b, err)
	}
	return nil
}

// watch keeps a connection to the server's metrics, so that they can be read where there
// are no descriptors left.
func (s *standing) watch() *watching {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.admin)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return &watching{s.t, conn, bufio.NewReader(conn)}
}

// watching is that connection.
type watching struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// read returns the metrics by name and labels.
func (w *watching) read() map[string]float64 {
	w.t.Helper()
	_ = w.conn.SetDeadline(time.Now().Add(killTime))
	fmt.Fprint(w.conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
	res, err := http.ReadResponse(w.in, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	all := map[string]float64{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && name[0] != '#' {
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

// grown says what one process holds more of than before: descriptors, goroutines.
func grown(before, now map[string]float64) error {
	for _, name := range []string{"process_open_fds", "go_goroutines", "paddock_tunnel_names_away", "paddock_tunnel_inflight", "paddock_tunnel_streams"} {
		if now[name] > before[name] {
			return fmt.Errorf("%s is %v and was %v", name, now[name], before[name])
		}
	}
	return nil
}

// A client is killed again and again; the one that comes after it has its name at once, and
// the server holds no more in the end than before.
func TestTunnelClientIsKilled(t *testing.T) {
	ctx, plan := planKills(t, 0)
	s := newStanding(ctx, t)
	s.serve(0)
	w := s.watch()
	s.client = s.connect(s.link)
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	before := w.read()
	for range plan.kills {
		plan.pass(ctx, 100*time.Millisecond)
		s.client.kill()
		s.client = s.connect(s.link)
		if err := s.visit(); err != nil {
			t.Errorf("after a client was killed: %v", err)
		}
	}
	until(ctx, t, "the server holds more than before", func() error { return grown(before, w.read()) })
	s.server.kill()
	if log := s.server.log.String(); strings.Contains(log, "in use") || strings.Contains(log, "held by another") {
		t.Errorf("a name was not free:\n%s", log)
	}
}

// A server is killed again and again; its client comes back by itself, and holds no more in
// the end than before.
func TestTunnelServerIsKilled(t *testing.T) {
	ctx, plan := planKills(t, 1)
	s := newStanding(ctx, t)
	s.serve(0)
	s.client = s.connect(s.link)
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	holds := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.client.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := holds()
	for range plan.kills {
		plan.pass(ctx, 100*time.Millisecond)
		s.server.kill()
		s.serve(0)
		until(ctx, t, "the client has not come back", s.visit)
	}
	until(ctx, t, "the client holds more than before", func() error {
		if now := holds(); now > before {
			return fmt.Errorf("%d descriptors, %d before", now, before)
		}
		return nil
	})
	s.client.kill()
	if log := s.client.log.String(); strings.Contains(log, "in use") || strings.Contains(log, "held by another") {
		t.Errorf("its name was not free:\n%s", log)
	}
}

// swallowing is a path between a client and a server that can go: it keeps both sockets
// open and moves nothing any more.
type swallowing struct {
	l    net.Listener
	wg   sync.WaitGroup
	gone chan struct{}
	end  chan struct{}
	came atomic.Int32 // connections
}

func newSwallowing(t *testing.T, to string) *swallowing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &swallowing{l: l, gone: make(chan struct{}), end: make(chan struct{})}
	s.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			s.came.Add(1)
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				s.wg.Go(func() { s.carry(way[0], way[1]) })
			}
			s.wg.Go(func() {
				<-s.end
				_, _ = near.Close(), far.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(s.end)
		s.wg.Wait()
	})
	return s
}

func (s *swallowing) carry(from, to net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case <-s.gone:
			return // and nobody closes
		default:
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// A path swallows everything, and says nothing. Who comes by another one with the same key
// has the name at once: nobody hears that it is in use, and visitors do not wait for the
// dead connection to be noticed.
func TestTunnelPathIsLost(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*killTime)
	defer cancel()
	s := newStanding(ctx, t)
	s.serve(0)
	w := s.watch()
	path := newSwallowing(t, s.link)
	first := s.connect(path.l.Addr().String())
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	close(path.gone)
	second := s.connect(s.link)
	if err := s.visit(); err != nil {
		t.Error(err)
	}
	if m := w.read(); m["paddock_tunnel_takeovers_total"] != 1 || m["paddock_tunnel_sessions"] != 1 || m["paddock_tunnel_names_away"] != 0 {
		t.Errorf("%v takeovers, %v sessions, %v names away", m["paddock_tunnel_takeovers_total"], m["paddock_tunnel_sessions"], m["paddock_tunnel_names_away"])
	}
	first.kill()
	second.kill()
	for _, log := range []*bytes.Buffer{&first.log, &second.log} {
		if strings.Contains(log.String(), "in use") || strings.Contains(log.String(), "held by another") {
			t.Errorf("somebody heard that the name is in use:\n%s", log)
		}
	}
}

// There are more visitors than the server has descriptors for. Those of the fronts have
// their part: a client that was killed comes back beside them. So have those of a raw tunnel, and
// strangers at the link, beside whom visitors are served. If settings give visitors more than
// there is, the link stays, nobody is accepted, the server tells and counts it and does not
// spin, and it goes on by itself when they have gone.
func TestTunnelWithoutDescriptors(t *testing.T) {
	const descriptors = 128
	ctx, cancel := context.WithTimeout(t.Context(), 4*killTime)
	defer cancel()
	s := newStanding(ctx, t)
	raw := deadAddress(t)
	s.allow = "app.example," + raw
	s.serve(descriptors)
	file := filepath.Join(s.dir, "client.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "tunnel:\n  connect: {server: %q, server_id: %s, key: client.key}\n  tunnels:\n"+
		"    web: {proto: http, addr: %q, host: app.example}\n    raw: {proto: tcp, addr: %[3]q, remote_addr: %[4]q}\n",
		s.link, s.id, s.target.Listener.Addr(), raw), 0o600); err != nil {
		t.Fatal(err)
	}
	connect := func() {
		s.client = startTunnel(ctx, t, "start", "-c", file)
		s.client.line("")
		s.client.line("")
	}
	connect()
	w := s.watch()
	crowd := func(address string) (leave func()) {
		var there []net.Conn
		for range 2 * descriptors {
			conn, err := net.Dial("tcp", address)
			if errors.Is(err, syscall.ECONNRESET) {
				continue // sent away sooner than he has looked
			}
			if err != nil {
				t.Fatal(err)
			}
			there = append(there, conn)
		}
		return func() {
			for _, conn := range there {
				_ = conn.Close()
			}
		}
	}

	leave := crowd(s.front)
	until(ctx, t, "nobody was sent away", func() error {
		m := w.read()
		if n := m["paddock_tunnel_visitors"]; n > descriptors/2 || n != m[`paddock_tunnel_limit{of="visitors"}`] {
			return fmt.Errorf("%v visitors of %d descriptors, the bound is %v", n, descriptors, m[`paddock_tunnel_limit{of="visitors"}`])
		}
		if m[`paddock_tunnel_refused_total{reason="overloaded",stage="permit"}`] == 0 {
			return errors.New("no refusal is counted")
		}
		return nil
	})
	s.client.kill()
	connect()
	leave()
	until(ctx, t, "nobody is served", s.visit)

	leave = crowd(raw)
	until(ctx, t, "visitors of a TCP tunnel are not bounded", func() error {
		m := w.read()
		if n := m["paddock_tunnel_raw_visitors"]; n > descriptors/8 || n != m[`paddock_tunnel_limit{of="raw_visitors"}`] {
			return fmt.Errorf("%v visitors of %d descriptors, the bound is %v", n, descriptors, m[`paddock_tunnel_limit{of="raw_visitors"}`])
		}
		return nil
	})
	leave()

	if _, told := w.read()["paddock_wire_waiting"]; !told {
		t.Error("it is not told who waits at the link")
	}
	leave = crowd(s.link)
	until(ctx, t, "nobody is served beside strangers at the link", s.visit)
	leave()
	const attempts = "paddock_tunnel_accept_errors_total"
	if n := w.read()[attempts]; n != 0 {
		t.Errorf("%v attempts to accept have failed", n)
	}
	s.server.kill()
	if !strings.Contains(s.server.log.String(), "bounds are lower than usual") {
		t.Error("the log does not say that bounds are lower")
	}

	over := filepath.Join(s.dir, "server.yaml")
	if err := os.WriteFile(over, []byte("tunnel: {serve: {limits: {visitors: 4096, visitors_each: 4096}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.more = []string{"-c", over}
	s.serve(descriptors)
	until(ctx, t, "the client has not come back", s.visit)
	w = s.watch()
	before := w.read()
	leave = crowd(s.front)
	until(ctx, t, "there are descriptors", func() error {
		visitor, err := net.Dial("tcp", s.front)
		if err != nil {
			return err
		}
		defer visitor.Close()
		if n := w.read()[attempts]; n < 5 {
			return fmt.Errorf("%v attempts to accept have failed", n)
		}
		return nil
	})
	full := w.read()
	if full["paddock_tunnel_sessions"] != 1 || full["paddock_tunnel_takeovers_total"] != before["paddock_tunnel_takeovers_total"] {
		t.Errorf("the link has not stayed: %v sessions", full["paddock_tunnel_sessions"])
	}
	leave()
	until(ctx, t, "nobody is served", s.visit)
	until(ctx, t, "the server holds more than before", func() error { return grown(before, w.read()) })
	after := w.read()
	if n := after[attempts]; n > 100 { // one a second at each listener, once it has waited for a while
		t.Errorf("%v attempts to accept", n)
	}
	if spent := after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]; spent > 10 {
		t.Errorf("%v s of processor time", spent)
	}
	s.server.kill()
	if !strings.Contains(s.server.log.String(), "too many open files") {
		t.Error("the log does not say what was missing")
	}
}
