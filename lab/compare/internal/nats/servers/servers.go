// Package servers runs clusters of nats-servers with JetStream as processes, which can be killed,
// stopped and started again.
package servers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"paddock/lab/compare/internal/harness/programs"
)

// Patience bounds the waits of tests.
const Patience = 2 * time.Minute

// Eventually calls f until it has no error, and fails after Patience with the last one.
func Eventually(t testing.TB, f func() error) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for err := f(); err != nil; err = f() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// The variables that make a test's program a server.
const (
	envName    = "PADDOCK_TEST_NATS_NAME"
	envDir     = "PADDOCK_TEST_NATS_DIR"
	envClient  = "PADDOCK_TEST_NATS_CLIENT"
	envCluster = "PADDOCK_TEST_NATS_CLUSTER"
	envRoutes  = "PADDOCK_TEST_NATS_ROUTES"
	envHidden  = "PADDOCK_TEST_NATS_HIDDEN"
)

// Main is TestMain of the tests that use this package: it runs the tests, or a server.
func Main(m *testing.M) {
	if os.Getenv(envDir) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve runs a server until it is killed, or gets SIGTERM.
func serve() error {
	port := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name)) // 0 is none
		return n
	}
	o := &server.Options{
		ServerName: os.Getenv(envName), Host: "127.0.0.1", Port: port(envClient),
		JetStream: true, StoreDir: os.Getenv(envDir), SyncAlways: true, NoSigs: true,
	}
	if routes := os.Getenv(envRoutes); routes != "" {
		o.Cluster = server.ClusterOpts{Name: "paddock", Host: "127.0.0.1", Port: port(envCluster)}
		for route := range strings.SplitSeq(routes, ",") {
			u, err := url.Parse(route)
			if err != nil {
				return err
			}
			o.Routes = append(o.Routes, u)
		}
		// No server listens at this address, so the others use their routes alone.
		o.Cluster.Advertise, o.Cluster.NoAdvertise = os.Getenv(envHidden), os.Getenv(envHidden) != ""
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.SetLogger(nil, false, false)
	s.Start()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	s.Shutdown()
	return nil
}

// Server is one of a cluster.
type Server struct {
	Name   string
	env    []string
	client int
	cmd    *exec.Cmd // nil: it does not run
}

// Cluster is some servers.
type Cluster struct {
	Servers []*Server
	t       testing.TB
}

// Options configure StartWith.
type Options struct {
	// Dir returns the directory of a server. Nil: one of the test.
	Dir func(i int) string
	// Route returns the address at which a server reaches another one, given that one's own. The
	// servers have no other way to each other. Nil: the own one.
	Route func(from, to int, address string) string
}

// Start starts servers, of which each has a directory of its own, and waits until JetStream
// answers. They are killed at the end of the test.
func Start(t testing.TB, count int) *Cluster {
	t.Helper()
	return StartWith(t, count, Options{})
}

// StartWith is Start with options.
func StartWith(t testing.TB, count int, o Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	if o.Dir == nil {
		dir := t.TempDir()
		o.Dir = func(i int) string { return filepath.Join(dir, strconv.Itoa(i+1)) }
	}
	ports, err := programs.KeptPorts(2*count + 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		var routes []string
		for j := range count {
			address := fmt.Sprintf("127.0.0.1:%d", ports[count+j])
			if o.Route != nil && i != j {
				address = o.Route(i, j, address)
			}
			if count > 1 && (o.Route == nil || i != j) {
				routes = append(routes, "nats-route://"+address)
			}
		}
		s := &Server{Name: fmt.Sprintf("n%d", i+1), client: ports[i]}
		s.env = append(os.Environ(),
			envName+"="+s.Name, envDir+"="+o.Dir(i), fmt.Sprintf("%s=%d", envClient, s.client),
			fmt.Sprintf("%s=%d", envCluster, ports[count+i]), envRoutes+"="+strings.Join(routes, ","))
		if o.Route != nil {
			s.env = append(s.env, fmt.Sprintf("%s=127.0.0.1:%d", envHidden, ports[2*count]))
		}
		c.Servers = append(c.Servers, s)
		c.Run(i)
	}
	t.Cleanup(func() {
		for i := range c.Servers {
			c.Kill(i)
		}
	})
	c.Await(c.Connect())
	return c
}

// Run starts a server that does not run.
func (c *Cluster) Run(i int) {
	c.t.Helper()
	s := c.Servers[i]
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env, s.cmd.Stderr = s.env, os.Stderr
	if err := s.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// Kill ends a server as kill -9 does.
func (c *Cluster) Kill(i int) {
	if s := c.Servers[i]; s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // it was killed
		s.cmd = nil
	}
}

// End lets a server end as SIGTERM does, and waits for that.
func (c *Cluster) End(i int) {
	if s := c.Servers[i]; s.cmd != nil {
		c.signal(i, syscall.SIGTERM)
		_ = s.cmd.Wait() // it was asked to
		s.cmd = nil
	}
}

// Freeze stops a server with SIGSTOP, and Thaw lets it go on.
func (c *Cluster) Freeze(i int) { c.signal(i, syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (c *Cluster) Thaw(i int) { c.signal(i, syscall.SIGCONT) }

func (c *Cluster) signal(i int, s syscall.Signal) {
	c.t.Helper()
	if err := c.Servers[i].cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// Address returns the address of a server for clients.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.client) }

// URL returns the servers' addresses, with commas between them.
func (c *Cluster) URL() string { return strings.Join(c.URLs(), ",") }

// URLs returns the servers' addresses.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		urls[i] = "nats://" + s.Address()
	}
	return urls
}

// Connect returns a connection that is closed at the end of the test.
func (c *Cluster) Connect() *nats.Conn {
	c.t.Helper()
	nc, err := nats.Connect(c.URL(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(nc.Close)
	return nc
}

// Await waits until the cluster can keep a stream on all of its servers.
func (c *Cluster) Await(nc *nats.Conn) {
	c.t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	probe := jetstream.StreamConfig{Name: "PROBE", Subjects: []string{"probe"}, Replicas: len(c.Servers)}
	deadline := time.Now().Add(Patience)
	for {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		_, err := js.CreateOrUpdateStream(ctx, probe)
		if err == nil {
			err = js.DeleteStream(ctx, probe.Name)
		}
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal(err)
		}
	}
}

// LeaderOf returns the server that leads a stream; -1: there is none at present.
func (c *Cluster) LeaderOf(nc *nats.Conn, stream string) int {
	c.t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	for i := range c.Servers {
		if cluster := s.CachedInfo().Cluster; cluster != nil && c.Servers[i].Name == cluster.Leader {
			return i
		}
	}
	return -1
}
