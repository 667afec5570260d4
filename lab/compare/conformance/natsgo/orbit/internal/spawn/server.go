// Package spawn runs servers as processes: the program that [Variable] names, with a generated
// configuration file. Their behaviour is observed from outside, in the log and at the ports; no
// server is linked in.
package spawn

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Variable names the environment variable that holds the program's path. It is
// started as `nats-server -c FILE`, under whatever name the path ends in.
const Variable = "CONFORMANCE_SERVER"

// patience bounds each wait for a server.
const patience = 20 * time.Second

// The lines of the log that are waited for.
const (
	lineReady    = "Server is ready"
	lineReloaded = "Reloaded server configuration"
	lineRefused  = "Failed to reload server configuration"
)

// Dir is where servers keep their files.
type Dir struct{ path string }

// NewDir makes one.
func NewDir() (*Dir, error) {
	path, err := os.MkdirTemp("", "conformance-")
	return &Dir{path}, err
}

// Remove deletes it with everything in it.
func (d *Dir) Remove() error { return os.RemoveAll(d.path) }

// Server is one server: its address and configuration stay while it is stopped
// and started again. For one goroutine at a time.
type Server struct {
	Name  string
	Port  int
	Ports map[string]int // of the listening snippets

	file   string
	config Config
	values Values
	proc   *process // nil while it is stopped
}

// number makes names unique.
var number atomic.Int64

// Start runs n servers of one configuration, which form a cluster if they are
// more than one, and returns when all say that they are ready.
func Start(dir *Dir, n int, c Config) ([]*Server, error) {
	var certs *Certificates
	if c.TLS != nil {
		var err error
		if certs, err = newCertificates(dir.path, *c.TLS); err != nil {
			return nil, err
		}
	}
	cluster := fmt.Sprintf("cluster%d", number.Add(1))
	var servers []*Server
	var routes []string
	for range n {
		s, err := prepare(dir, c)
		if err != nil {
			return nil, err
		}
		s.values.TLS, s.values.ClusterName = certs, cluster
		if n > 1 {
			routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", s.values.Ports["cluster"]))
		}
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.values.Routes = routes
		if err := errors.Join(s.write(), s.Start()); err != nil {
			for _, s := range servers {
				err = errors.Join(err, s.Stop())
			}
			return nil, err
		}
	}
	return servers, nil
}

// prepare takes ports and a directory for a server.
func prepare(dir *Dir, c Config) (*Server, error) {
	s := &Server{Name: fmt.Sprintf("server%d", number.Add(1)), Ports: map[string]int{}, config: c}
	all := map[string]int{}
	for _, name := range append([]string{"client", "cluster"}, listening...) {
		if name != "client" && name != "cluster" && c.Snippets[name] == "" {
			continue
		}
		port, err := newPort()
		if err != nil {
			return nil, err
		}
		all[name] = port
	}
	s.Port = all["client"]
	maps.Copy(s.Ports, all)
	delete(s.Ports, "client")
	delete(s.Ports, "cluster")
	home := filepath.Join(dir.path, s.Name)
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	s.file = filepath.Join(home, "server.conf")
	s.values = Values{ServerName: s.Name, StoreDir: filepath.Join(home, "store"), Ports: all}
	return s, nil
}

func (s *Server) write() error { return s.config.write(s.file, s.values) }

// Running reports whether the server was started and not stopped since.
func (s *Server) Running() bool { return s.proc != nil }

// Start runs the server and returns when it is ready.
func (s *Server) Start() error {
	if s.proc != nil {
		return fmt.Errorf("%s is running", s.Name)
	}
	p, err := start(s.file+".log", os.Getenv(Variable), "-c", s.file)
	if err != nil {
		return err
	}
	s.proc = p
	if _, err := p.await(0, lineReady); err != nil {
		return errors.Join(fmt.Errorf("%s did not start: %w", s.Name, err), s.Stop())
	}
	return nil
}

// Stop asks the server to shut down and waits until it has. To stop a server
// that is stopped has no effect.
func (s *Server) Stop() error {
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	return p.stop()
}

// Update writes a configuration with other snippets. The server reads it when it
// is reloaded or started again.
func (s *Server) Update(snippets map[string]string, tlsTimeout float64) error {
	s.config.Snippets = snippets
	if tlsTimeout != 0 && s.config.TLS != nil {
		t := *s.config.TLS
		t.Timeout = tlsTimeout
		s.config.TLS = &t
	}
	return s.write()
}

// Reload has the running server read its configuration, and returns when it has
// taken it.
func (s *Server) Reload() error {
	if s.proc == nil {
		return fmt.Errorf("%s is stopped", s.Name)
	}
	from := len(s.proc.logged())
	if err := s.proc.signal(syscall.SIGHUP); err != nil {
		return err
	}
	line, err := s.proc.await(from, lineReloaded, lineRefused)
	if err == nil && line != lineReloaded {
		err = fmt.Errorf("%s refused the configuration: %s", s.Name, s.proc.tail())
	}
	return err
}

// Cluster returns the name of the server's cluster; a server alone has one too,
// which it does not know.
func (s *Server) Cluster() string { return s.values.ClusterName }

// Certificates returns the server's certificates, nil without TLS.
func (s *Server) Certificates() *Certificates { return s.values.TLS }
