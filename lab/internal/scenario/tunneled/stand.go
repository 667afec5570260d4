// Package tunneled puts a service behind a tunnel of ours: the tunnel's server and its
// client are processes of this program, on loopback, and so is the service if none is given.
package tunneled

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/process/keyid"
	"paddock/lab/process"
)

// Host is the name under which visitors find the service.
const Host = "bench.example"

// Options describe the setup.
type Options struct {
	Program string // paddock
	Target  string // the service, host:port
	TCP     bool   // as a TCP tunnel, not an HTTP one
	Plain   bool   // without TLS between server and client, which comes with a token then
	// Link, if not nil, is told where the server listens for clients, and says where the
	// client is to find it: something stands between them.
	Link func(server string) (string, error)
	// Watched makes both sides serve /metrics, for Stand.Levels.
	Watched bool
	// Others are further HTTP tunnels of the same client.
	Others []Tunnel
	// Serve and Connect are further flags of the two commands.
	Serve, Connect []string
	// Start, if not nil, starts a process by calling start, which another may want to do in
	// a place of its own.
	Start func(start func() error) error
}

// Tunnel is where visitors find a service.
type Tunnel struct {
	Host   string
	Target string // host:port
}

// Stand is a tunnel that stands.
type Stand struct {
	Front string // where visitors connect, host:port

	dir                      string
	remove                   func() error // of dir
	server, client           *child
	serverAdmin, clientAdmin string // host:port; "" unless it is Watched
}

// Start puts it up. It returns when visitors are served.
func Start(ctx context.Context, o Options) (s *Stand, err error) {
	s = &Stand{}
	if s.dir, s.remove, err = process.TempDir("paddock-tunneled-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	remote, err := process.FreeAddress()
	if err != nil {
		return s, err
	}
	link, id, err := s.serve(ctx, &o, remote)
	if err != nil {
		return s, err
	}
	if o.Link != nil {
		if link, err = o.Link(link); err != nil {
			return s, err
		}
	}
	return s, s.connect(ctx, &o, link, id, remote)
}

// serve starts the server, and returns its address for clients and its identity.
func (s *Stand) serve(ctx context.Context, o *Options, remote string) (link, id string, err error) {
	allow, err := s.allow(o, remote)
	if err != nil {
		return "", "", err
	}
	args := append(append([]string{
		"tunnel", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--key", filepath.Join(s.dir, "server.key"),
		"--log-level", "error", "--control", "off",
	}, allow...), o.Serve...)
	if o.Watched {
		args = append(args, "--admin", "127.0.0.1:0")
	}
	if s.server, err = spawn(o.Start, "paddock tunnel serve", o.Program, args...); err != nil {
		return "", "", err
	}
	if id, err = s.server.await(ctx, "id:"); err != nil {
		return "", "", err
	}
	if link, err = s.server.await(ctx, "clients:"); err != nil {
		return "", "", err
	}
	if s.Front, err = s.server.await(ctx, "visitors: http://"); err != nil || !o.Watched {
		return link, id, err
	}
	s.serverAdmin, err = s.server.await(ctx, "admin:    http://")
	return link, id, err
}

// token is the secret of a client without TLS; only its own server on loopback knows it.
const token = "of the bench alone"

// allow makes the client's identity, and returns the server's flags that admit it.
func (s *Stand) allow(o *Options, remote string) ([]string, error) {
	if !o.Plain {
		key, err := keyid.Make(s.clientKey())
		may := []string{Host, remote}
		for _, t := range o.Others {
			may = append(may, t.Host)
		}
		return []string{"--allow", fmt.Sprintf("%s=%s", key.ID, strings.Join(may, ","))}, err
	}
	hash := sha256.Sum256([]byte(token))
	file := filepath.Join(s.dir, "server.yaml")
	text := fmt.Sprintf("tunnel: {clients: [{name: bench, token_sha256: %x, hosts: [%s], ports: [%q]}]}\n", hash, Host, remote)
	return []string{"--plaintext", "-c", file}, errors.Join(
		os.WriteFile(file, []byte(text), 0o600), os.WriteFile(s.tokenFile(), []byte("bench:"+token+"\n"), 0o600))
}

// connect starts the client.
func (s *Stand) connect(ctx context.Context, o *Options, link, id, remote string) error {
	args, err := s.offer(o, link, id, remote)
	if err != nil {
		return err
	}
	args = append(append([]string{"tunnel"}, args...), o.Connect...)
	if s.client, err = spawn(o.Start, "paddock tunnel "+args[1], o.Program, args...); err != nil {
		return err
	}
	for range 1 + len(o.Others) {
		if _, err := s.client.await(ctx, ""); err != nil {
			return err
		}
	}
	return nil
}

// offer returns the client's flags: its services, and the server.
func (s *Stand) offer(o *Options, link, id, remote string) (args []string, err error) {
	if o.Watched {
		if s.clientAdmin, err = process.FreeAddress(); err != nil {
			return nil, err
		}
	}
	if len(o.Others) > 0 {
		file := filepath.Join(s.dir, "client.yaml")
		return []string{"start", "-c", file, "--log-level", "error"}, os.WriteFile(file, []byte(s.clientFile(o, link, id)), 0o600)
	}
	args = []string{"http", o.Target, "--host", Host}
	if o.TCP {
		args = []string{"tcp", o.Target, "--remote", remote}
		s.Front = remote
	}
	who := []string{"--server-id", id, "--key", s.clientKey()}
	if o.Plain {
		who = []string{"--plaintext", "--token-file", s.tokenFile()}
	}
	if o.Watched {
		who = append(who, "--admin", s.clientAdmin)
	}
	return append(append(args, "--server", link, "--log-level", "error"), who...), nil
}

// clientFile is the configuration of a client with several tunnels.
func (s *Stand) clientFile(o *Options, link, id string) string {
	text := fmt.Sprintf("tunnel:\n  connect: {server: %q, server_id: %s, key: %q", link, id, s.clientKey())
	if s.clientAdmin != "" {
		text += fmt.Sprintf(", admin: %q", s.clientAdmin)
	}
	text += "}\n  tunnels:\n"
	for i, t := range append([]Tunnel{{Host, o.Target}}, o.Others...) {
		text += fmt.Sprintf("    t%d: {proto: http, addr: %q, host: %s}\n", i, t.Target, t.Host)
	}
	return text
}

func (s *Stand) tokenFile() string { return filepath.Join(s.dir, "token") }

func (s *Stand) clientKey() string { return filepath.Join(s.dir, "client.key") }

// Server and Client are the processes' numbers.
func (s *Stand) Server() int { return s.server.Pid() }

// Client is the process's number.
func (s *Stand) Client() int { return s.client.Pid() }

// Stop takes it down: the client first, as one that leaves in peace.
func (s *Stand) Stop() error {
	return errors.Join(s.client.stop(), s.server.stop(), s.remove())
}

// Service is a process of `paddock bench responder`.
type Service struct {
	addr string
	*child
}

// Serve starts one with the arguments.
func Serve(ctx context.Context, program string, args ...string) (*Service, error) {
	c, err := spawn(nil, "paddock bench responder", program, append([]string{"bench", "responder"}, args...)...)
	if err != nil {
		return nil, err
	}
	addr, err := c.await(ctx, "")
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return &Service{addr, c}, nil
}

// Addr is its host:port.
func (s *Service) Addr() string { return s.addr }

// Stop ends it.
func (s *Service) Stop() error { return s.stop() }

// Sizes lists the names of the sizes that a service can answer with.
func Sizes() []string { return []string{"corpus", "1B", "1KiB", "3.5kB", "32KiB-1", "32KiB+1", "1MiB"} }

// Bytes is the length of a body by the name of its size; 0 = the files of the corpus.
func Bytes(size string) (int, error) {
	n, ok := map[string]int{"corpus": 0, "1B": 1, "1KiB": 1 << 10, "3.5kB": 3500, "32KiB-1": 32<<10 - 1, "32KiB+1": 32<<10 + 1, "1MiB": 1 << 20}[size]
	if !ok {
		return 0, fmt.Errorf("no size %q: there are %s", size, strings.Join(Sizes(), ", "))
	}
	return n, nil
}
