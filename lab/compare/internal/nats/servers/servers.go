// Package servers runs clusters of nats-servers with JetStream as processes, which can be killed,
// stopped and started again.
package servers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
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

// The variables that make a test's program a server.
const (
	envName    = "PADDOCK_TEST_NATS_NAME"
	envDir     = "PADDOCK_TEST_NATS_DIR"
	envClient  = "PADDOCK_TEST_NATS_CLIENT"
	envCluster = "PADDOCK_TEST_NATS_CLUSTER"
	envRoutes  = "PADDOCK_TEST_NATS_ROUTES"
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

// serve runs a server until it is killed.
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
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.SetLogger(nil, false, false)
	s.Start()
	s.WaitForShutdown()
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

// Start starts servers, of which each has a directory of its own, and waits until JetStream
// answers. They are killed at the end of the test.
func Start(t testing.TB, count int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	dir := t.TempDir()
	ports, err := programs.FreePorts(2 * count)
	if err != nil {
		t.Fatal(err)
	}
	routes := make([]string, count)
	for i := range routes {
		routes[i] = fmt.Sprintf("nats-route://127.0.0.1:%d", ports[count+i])
	}
	if count == 1 {
		routes = nil
	}
	for i := range count {
		s := &Server{Name: fmt.Sprintf("n%d", i+1), client: ports[i]}
		s.env = append(os.Environ(),
			envName+"="+s.Name, envDir+"="+filepath.Join(dir, s.Name), fmt.Sprintf("%s=%d", envClient, s.client),
			fmt.Sprintf("%s=%d", envCluster, ports[count+i]), envRoutes+"="+strings.Join(routes, ","))
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

// URL returns the servers' addresses, with commas between them.
func (c *Cluster) URL() string { return strings.Join(c.URLs(), ",") }

// URLs returns the servers' addresses.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		urls[i] = fmt.Sprintf("nats://127.0.0.1:%d", s.client)
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
