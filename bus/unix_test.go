package bus_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// socketPath is short: systems allow about 100 bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

type unixDialer string

func (path unixDialer) Dial(string, string) (net.Conn, error) { return net.Dial("unix", string(path)) }

func TestUnixSocket(t *testing.T) {
	path := socketPath(t)
	cfg := bus.Config{Unix: path, Token: "secret", TLS: &bus.TLS{Config: serverConfig(t)}}
	s := startServer(t, cfg)
	if a := s.UnixAddr(); a == nil || a.String() != path {
		t.Errorf("address %v", a)
	}
	file, err := os.Stat(path)
	check(t, err)
	if file.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", file.Mode())
	}
	nc, err := nats.Connect("nats://socket", nats.SetCustomDialer(unixDialer(path)), nats.Token("secret"))
	check(t, err)
	defer nc.Close()
	echoes(t, nc)
	if _, err := nats.Connect("nats://socket", nats.SetCustomDialer(unixDialer(path))); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without the token: %v", err)
	}
	p := newPeer(t, must[net.Conn](t)(net.Dial("unix", path)))
	info := p.greeting()
	if info["tls_required"] != nil || info["client_ip"] != nil || info["auth_required"] != true {
		t.Errorf("%v", info)
	}
	cfg.Port = -1
	if err := newServer(t, cfg).Start(); !errors.Is(err, bus.ErrInUse) {
		t.Errorf("a second server at the path: %v", err)
	}
	nc.Close()
	shutdown(t, s)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// The socket of a killed server is replaced; a file that is no socket is not.
func TestUnixSocketPath(t *testing.T) {
	path := socketPath(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	check(t, err)
	stale.SetUnlinkOnClose(false)
	stale.Close()
	s := startServer(t, bus.Config{Unix: path})
	conn := must[net.Conn](t)(net.Dial("unix", path))
	conn.Close()
	shutdown(t, s)

	check(t, os.WriteFile(path, []byte("mine"), 0o644))
	s = newServer(t, bus.Config{Port: -1, Unix: path})
	if err := s.Start(); !errors.Is(err, bus.ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("an ordinary file: %v", err)
	}
	if s.Addr() != nil {
		t.Error("the port is open all the same")
	}
	check(t, os.Remove(path))
	check(t, s.Start()) // the listeners opened before it were closed again
}

// A server that ends leaves the file of the one that took its place.
func TestUnixSocketOfAnother(t *testing.T) {
	path := socketPath(t)
	one := startServer(t, bus.Config{Unix: path})
	check(t, os.Remove(path))
	startServer(t, bus.Config{Unix: path})
	shutdown(t, one)
	conn := must[net.Conn](t)(net.Dial("unix", path))
	conn.Close()
}
