// Package ntf gives the integration tests of nats.go the servers that they ask
// for. It has the names and the behaviour that those tests rely on, of the
// package of the same path, and none of its code: that one asks a service for
// servers that are linked in, this one starts the program under test.
package ntf

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/synadia-io/orbit.go/internal/spawn"
)

// Client makes instances.
type Client struct{}

// New returns a client. The address is that of the tester service, which is not
// needed here.
func New(testing.TB, string, ...nats.Option) *Client { return &Client{} }

// Close has nothing to do: each instance is destroyed by its test.
func (c *Client) Close(testing.TB) {}

// CreateServer starts a server and returns when it is ready.
func (c *Client) CreateServer(t testing.TB, js bool, opts ...CreateOption) *Instance {
	t.Helper()
	return c.CreateCluster(t, 1, js, opts...)
}

// CreateCluster starts servers that are connected with each other.
func (c *Client) CreateCluster(t testing.TB, servers int, js bool, opts ...CreateOption) *Instance {
	t.Helper()
	config := spawn.Config{JetStream: js}
	for _, opt := range opts {
		opt.create(&config)
	}
	dir, err := spawn.NewDir()
	if err != nil {
		t.Fatal(err)
	}
	started, err := spawn.Start(dir, servers, config)
	if err != nil {
		dir.Remove()
		t.Fatalf("starting a server: %v", err)
	}
	inst := &Instance{ID: started[0].Name, dir: dir}
	for _, s := range started {
		inst.Servers = append(inst.Servers, &ManagedServer{
			Name: s.Name, Cluster: s.Cluster(), Port: s.Port, Ports: s.Ports,
			URL:    fmt.Sprintf("nats://localhost:%d", s.Port),
			server: s,
		})
	}
	if certs := started[0].Certificates(); certs != nil {
		inst.TLS = &TLSMaterial{
			CAPEM: string(certs.CA), ClientCertPEM: string(certs.ClientCert), ClientKeyPEM: string(certs.ClientKey),
		}
	}
	return inst
}

// WaitForJetStream returns when JetStream answers.
func (c *Client) WaitForJetStream(t testing.TB, nc *nats.Conn) {
	t.Helper()
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	for range 50 {
		if _, err := nc.Request("$JS.API.INFO", nil, time.Second); err == nil {
			return
		}
		<-retry.C
	}
	t.Fatal("no answer from JetStream")
}
