// Package streamsink holds the tests of the platform's sink for JetStream with nats-server, which
// is no dependency of the product.
package streamsink

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/sinks/natssink"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// serverDir is the variable that makes this program a nats-server with JetStream in a directory,
// and serverPort its port.
const (
	serverDir  = "PADDOCK_TEST_NATS_DIR"
	serverPort = "PADDOCK_TEST_NATS_PORT"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverDir); dir != "" {
		serve(dir)
	}
	os.Exit(m.Run())
}

// serve runs nats-server until it is killed.
func serve(dir string) {
	port, err := strconv.Atoi(os.Getenv(serverPort))
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, MaxPayload: 64 << 10,
	})
	if err != nil {
		panic(err)
	}
	s.Start()
	s.WaitForShutdown()
	os.Exit(0)
}

// site is a nats-server that can be killed, and a log whose events go there.
type site struct {
	t        *testing.T
	dir      string
	port     int
	cmd      *exec.Cmd
	log      *events.Log
	store    *journal.Memory
	follower *deliver.Follower
	stop     func()
	told     []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port, log: events.NewLog(100_000, 64<<20, "e"), store: journal.NewMemory()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.startServer()
	t.Cleanup(func() { s.kill() })
	return s
}

func (s *site) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.port) }

func (s *site) startServer() {
	s.t.Helper()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), serverDir+"="+s.dir, fmt.Sprintf("%s=%d", serverPort, s.port))
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// kill ends the server as kill -9 does.
func (s *site) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
}

// with calls do with a connection to the server.
func (s *site) with(do func(js jetstream.JetStream)) {
	s.t.Helper()
	nc, err := nats.Connect(s.url(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		s.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		s.t.Fatal(err)
	}
	do(js)
}

// stream makes the stream, once the server answers.
func (s *site) stream(c jetstream.StreamConfig) {
	s.t.Helper()
	c.Name, c.Subjects = "EVENTS", []string{"site.fence.>"}
	s.with(func(js jetstream.JetStream) {
		deadline := time.Now().Add(patience)
		for {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
			_, err := js.CreateOrUpdateStream(ctx, c)
			cancel()
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				s.t.Fatal(err)
			}
		}
	})
}

// follow starts the sink with the stored state.
func (s *site) follow() {
	s.t.Helper()
	schedule := deliver.Default()
	schedule.Waits = []time.Duration{20 * time.Millisecond}
	var err error
	s.follower, err = deliver.New(deliver.Options{
		Name: "sink/js", Log: s.log, Store: s.store, Keeps: true, Schedule: schedule, Logger: slog.New(slog.DiscardHandler), Counts: &deliver.Counts{},
	}, deliver.Config{
		End:      natssink.New(&natssink.Config{URL: s.url(), Prefix: "site.", JetStream: true}, false),
		Selector: deliver.NewSelector(&deliver.Selection{}, nil), Batch: 64, Enabled: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go s.follower.Run(ctx)
	s.stop = func() {
		if err := s.follower.Drain(context.Background()); err != nil {
			s.t.Error(err)
		}
		cancel()
	}
}

// tell appends n events.
func (s *site) tell(n int, body string) {
	var records []events.Record
	for range n {
		id := fmt.Sprintf("v/%d", len(s.told)+1)
		s.told = append(s.told, id)
		records = append(records, events.Record{
			Subject: "fence.depots.north.enter.default.v", JSON: events.Plain([]byte(`{"id":"` + id + `","source":"/sets/depots"` + body + `}`)),
		})
	}
	s.log.Append(records)
}

// await waits until the sink has passed all events.
func (s *site) await() {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r := s.follower.Report()
		if r.Lag == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%+v, %+v", r, r.Last)
		}
		runtime.Gosched()
	}
}

// stored returns the ids of the events in the stream.
func (s *site) stored() (ids []string) {
	s.t.Helper()
	s.with(func(js jetstream.JetStream) {
		stream, err := js.Stream(s.t.Context(), "EVENTS")
		if err != nil {
			s.t.Fatal(err)
		}
		info, err := stream.Info(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
			m, err := stream.GetMsg(s.t.Context(), seq)
			if err != nil {
				s.t.Fatal(err)
			}
			ids = append(ids, m.Header.Get("Nats-Msg-Id"))
		}
	})
	return ids
}

// The stream has each event once and in order, although the server is killed again and again, and
// although the platform begins again with a cursor of some time before, as after a crash.
func TestStreamHasEachEventOnce(t *testing.T) {
	s := newSite(t)
	s.stream(jetstream.StreamConfig{})
	s.follow()
	for range 4 {
		s.tell(300, "")
		earlier := s.store.Clone() // a cursor of which later changes are lost
		s.tell(300, "")
		s.kill()
		s.tell(100, "")
		s.startServer()
		s.await()
		s.stop()
		s.store = earlier
		s.follow()
	}
	s.await()
	s.stop()
	if got := s.stored(); !slices.Equal(got, s.told) {
		t.Errorf("%d events in the stream, %d were told", len(got), len(s.told))
	}
}

// Without a stream of the subjects events wait. An event that the stream does not take is a dead
// letter, and the others are in the stream.
func TestStreamRefuses(t *testing.T) {
	s := newSite(t)
	s.follow()
	s.tell(3, "")
	for s.follower.Report().Fails < 3 {
		runtime.Gosched()
	}
	s.stream(jetstream.StreamConfig{MaxMsgSize: 1024})
	s.await()
	s.tell(1, `,"x":"`+strings.Repeat("x", 2000)+`"`)    // longer than the stream takes
	s.tell(1, `,"x":"`+strings.Repeat("x", 100_000)+`"`) // longer than the server takes
	s.tell(1, "")
	s.await()
	if r := s.follower.Report(); r.Letters != 2 || r.Sent != 4 {
		t.Errorf("%+v", r)
	}
	s.stop()
	if got := s.stored(); !slices.Equal(got, []string{"v/1", "v/2", "v/3", "v/6"}) {
		t.Errorf("%q", got)
	}
}
