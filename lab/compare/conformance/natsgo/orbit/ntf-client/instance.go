package ntf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"github.com/synadia-io/orbit.go/internal/spawn"
)

// Instance is a server or a cluster that belongs to one test.
type Instance struct {
	ID      string
	Servers []*ManagedServer
	TLS     *TLSMaterial // nil without TLS

	dir *spawn.Dir // nil once destroyed
}

// ManagedServer is one server of an instance.
type ManagedServer struct {
	Name    string
	Cluster string
	Port    int
	Ports   map[string]int // by the snippet that listens there
	URL     string

	server *spawn.Server
}

// TLSMaterial holds the TLS files of a client.
type TLSMaterial struct {
	CAPEM         string
	ClientCertPEM string // empty unless the server asks for it
	ClientKeyPEM  string
}

// TLSConfig makes a client's configuration of an instance's material.
func TLSConfig(inst *Instance) (*tls.Config, error) {
	if inst == nil || inst.TLS == nil {
		return nil, errors.New("the instance has no TLS")
	}
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	if !c.RootCAs.AppendCertsFromPEM([]byte(inst.TLS.CAPEM)) {
		return nil, errors.New("the authority's certificate cannot be read")
	}
	if inst.TLS.ClientCertPEM != "" {
		cert, err := tls.X509KeyPair([]byte(inst.TLS.ClientCertPEM), []byte(inst.TLS.ClientKeyPEM))
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

// Destroy stops the servers and removes their files. To destroy an instance
// again has no effect.
func (i *Instance) Destroy(t testing.TB) {
	t.Helper()
	if i.dir == nil {
		return
	}
	for _, s := range i.Servers {
		if err := s.server.Stop(); err != nil {
			t.Errorf("stopping %s: %v", s.Name, err)
		}
	}
	if err := i.dir.Remove(); err != nil {
		t.Error(err)
	}
	i.dir = nil
}

// StopServer shuts one server down.
func (i *Instance) StopServer(t testing.TB, s *ManagedServer) {
	t.Helper()
	if err := s.server.Stop(); err != nil {
		t.Fatalf("stopping %s: %v", s.Name, err)
	}
}

// StartServer starts it again, at the same address. To start a server that is
// running has no effect.
func (i *Instance) StartServer(t testing.TB, s *ManagedServer) {
	t.Helper()
	if s.server.Running() {
		return
	}
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
}

// UpdateServer writes another configuration, which the server takes when it is
// reloaded or started again.
func (i *Instance) UpdateServer(t testing.TB, s *ManagedServer, opts ...UpdateOption) {
	t.Helper()
	var u update
	for _, opt := range opts {
		opt.update(&u)
	}
	if err := s.server.Update(u.config.Snippets, u.tlsTimeout); err != nil {
		t.Fatal(err)
	}
}

// ReloadServer has the server take its configuration.
func (i *Instance) ReloadServer(t testing.TB, s *ManagedServer) {
	t.Helper()
	if err := s.server.Reload(); err != nil {
		t.Fatal(err)
	}
}
