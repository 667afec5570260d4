//go:build linux

package main

import (
	"bufio"
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
	"syscall"
	"testing"
	"time"

	"paddock/internal/process/keyid"
)

// The tests over a standing tunnel cover the failures that its processes survive: kill -9 of
// either, a path that drops all packets, and more visitors than descriptors. They use the user's
// interfaces: commands, sockets, metrics.

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
	allow                  string   // the client's permissions
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
	cmd := exec.CommandContext(s.ctx, plain(s.t))
	if descriptors > 0 {
		cmd = exec.CommandContext(s.ctx, "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, descriptors), plain(s.t))
	}
	cmd.Args = append(cmd.Args, "tunnel", "serve", "--listen", s.link, "--http", s.front, "--admin", s.admin,
		"--key", filepath.Join(s.dir, "server.key"), "--control", "off", "--allow", s.key.ID.String()+"="+s.allow)
	cmd.Args = append(cmd.Args, s.more...)
	s.server = startTunnelAs(s.t, cmd)
	s.id, s.link, s.front = s.server.line("id:"), s.server.line("clients:"), s.server.line("visitors: http://")
	s.admin = s.server.line("admin:    http://")
}

// serveBoth is serve for a client that has a tunnel for HTTP and a raw one, which visitors find
// at an address; connect begins its process, and returns when both are bound.
func (s *standing) serveBoth(descriptors int) (raw string, connect func()) {
	s.t.Helper()
	raw = freeAddress(s.t)
	s.allow = "app.example," + raw
	s.serve(descriptors)
	return raw, func() {
		target := s.target.Listener.Addr()
		s.connectBy(fmt.Sprintf("  tunnels:\n    web: {proto: http, addr: %q, host: app.example}\n    raw: {proto: tcp, addr: %[1]q, remote_addr: %[2]q}\n", target, raw))
		s.client.line("")
	}
}

// freeAddress returns an address that nothing listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// connectBy starts a client with more settings in its file, and waits until it has its first name.
func (s *standing) connectBy(more string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "client.yaml")
	text := fmt.Sprintf("tunnel:\n  connect: {server: %q, server_id: %s, key: client.key}\n", s.link, s.id) + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.client = s.start("start", "-c", file)
	s.client.line("")
}

// start runs paddock tunnel with these arguments, until it is killed.
func (s *standing) start(args ...string) *tunnelProcess {
	s.t.Helper()
	return startTunnelAs(s.t, exec.CommandContext(s.ctx, plain(s.t), append([]string{"tunnel"}, args...)...))
}

// dialed opens n connections, and returns the ones that the server has not refused.
func dialed(t *testing.T, address string, n int) (there []net.Conn) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", address)
		if errors.Is(err, syscall.ECONNRESET) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		there = append(there, conn)
	}
	return there
}

// connect starts a client that finds the server at link, and waits until it has its name.
func (s *standing) connect(link string) *tunnelProcess {
	s.t.Helper()
	c := s.start("http", s.target.Listener.Addr().String(), "--host", "app.example",
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

// grown lists the resources of a process that have grown: descriptors, goroutines.
func grown(before, now map[string]float64) error {
	for _, name := range []string{"process_open_fds", "go_goroutines", "paddock_tunnel_names_away", "paddock_tunnel_inflight", "paddock_tunnel_streams"} {
		if now[name] > before[name] {
			return fmt.Errorf("%s is %v and was %v", name, now[name], before[name])
		}
	}
	return nil
}
