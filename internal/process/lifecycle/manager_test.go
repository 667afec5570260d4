package lifecycle

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"paddock/internal/process/notify"
)

// serviceManager is the socket of a service manager, and what a process has sent to it.
type serviceManager struct {
	t    *testing.T
	conn *net.UnixConn
	*notify.Manager
}

func newManager(t *testing.T, watchdog string) *serviceManager {
	t.Helper()
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m, err := notify.Open([]string{"NOTIFY_SOCKET=" + name, "WATCHDOG_USEC=" + watchdog}, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &serviceManager{t, conn, m}
}

// terminate ends a group by a signal.
func (s *serviceManager) terminate(r running) {
	s.t.Helper()
	r.signals <- syscall.SIGTERM
	s.await("STOPPING=1")
	if err := <-r.result; err != nil {
		s.t.Error(err)
	}
}

// await reads messages up to one that has the line, and returns all of them.
func (s *serviceManager) await(line string) (read []string) {
	s.t.Helper()
	b := make([]byte, 4096)
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			s.t.Fatal(err)
		}
		n, err := s.conn.Read(b)
		if err != nil {
			s.t.Fatalf("no %s behind %q: %v", line, read, err)
		}
		read = append(read, string(b[:n]))
		if strings.Contains("\n"+string(b[:n])+"\n", "\n"+line+"\n") {
			return read
		}
	}
}

// The manager learns of the start once every service has started, of the life of the group as long
// as it is alive, and of the end before the drain.
func TestManagerIsTold(t *testing.T) {
	s := newManager(t, "20000")
	var dead atomic.Bool
	asked := make(chan struct{}, 1)
	h := &history{}
	service := h.service("a")
	service.Drain = func(context.Context) error {
		if got := s.await("STOPPING=1"); !strings.Contains(got[len(got)-1], "STATUS=stopping") {
			t.Errorf("%q", got)
		}
		return nil
	}
	r := launchGroup(&Group{Managed: Managed{
		Manager: s.Manager, Status: func() string { return "3 sheep" },
		Alive: func(context.Context) error {
			if dead.Load() {
				select {
				case asked <- struct{}{}:
				default:
				}
				return errors.New("the dog sleeps")
			}
			return nil
		},
	}}, service)
	if got := s.await("READY=1"); !strings.HasPrefix(got[0], "STATUS=starting a") || !strings.HasSuffix(got[1], "\nSTATUS=3 sheep") {
		t.Errorf("%q", got)
	}
	for range 3 {
		s.await("WATCHDOG=1")
	}
	dead.Store(true)
	<-asked
	<-asked // the answer to the question before is known
	if err := s.Status("marker"); err != nil {
		t.Fatal(err)
	}
	s.await("STATUS=marker")
	<-asked
	if err := s.Status("another marker"); err != nil {
		t.Fatal(err)
	}
	if got := s.await("STATUS=another marker"); len(got) != 1 {
		t.Errorf("a dead group has sent %q", got)
	}
	dead.Store(false)
	s.await("WATCHDOG=1")
	r.signals <- syscall.SIGTERM
	if err := <-r.result; err != nil {
		t.Error(err)
	}
}

// A group that has started with an obstacle is ready once that is gone.
func TestManagerWaitsForTheObstacle(t *testing.T) {
	s := newManager(t, "")
	var obstacle atomic.Value
	obstacle.Store("sets missing a.json")
	r := launchGroup(&Group{Managed: Managed{Manager: s.Manager, Obstacle: func() string { return obstacle.Load().(string) }}})
	if got := s.await("STATUS=not ready: sets missing a.json"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	obstacle.Store("")
	if got := s.await("READY=1"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	s.terminate(r)
}

// A failure is the status of the end.
func TestManagerLearnsTheFailure(t *testing.T) {
	s := newManager(t, "")
	r := launchGroup(&Group{Managed: Managed{Manager: s.Manager}}, Service{
		Name: "a", Run: func(context.Context) error { return errors.New("the fence is open") },
	})
	s.await("STOPPING=1\nSTATUS=stopping because of a failure: a: the fence is open")
	if err := <-r.result; err == nil {
		t.Error("no error")
	}
}

// errAgain is a failure after which another group runs in the same process.
var errAgain = errors.New("another dog leads")

// again makes the manager's part of a group that may start again.
func (s *serviceManager) again() Managed {
	return Managed{Manager: s.Manager, Again: func(err error) bool { return errors.Is(err, errAgain) }}
}

// The manager learns of no end while the process goes on with another group, and is told that the
// process is alive at any time: during the drain, during the next start, and before that is ready.
func TestManagerOfAGroupThatStartsAgain(t *testing.T) {
	s := newManager(t, "20000")
	fails := make(chan error, 1)
	var read []string
	alive := func() {
		for range 3 {
			read = append(read, s.await("WATCHDOG=1")...)
		}
	}
	r := launchGroup(&Group{Managed: s.again()}, Service{
		Name:  "a",
		Run:   func(context.Context) error { return <-fails },
		Drain: func(context.Context) error { alive(); return nil },
	})
	s.await("READY=1")
	fails <- errAgain
	if err := <-r.result; !errors.Is(err, errAgain) {
		t.Error(err)
	}
	var obstacle atomic.Value
	obstacle.Store("no dog leads")
	next := s.again()
	next.Obstacle = func() string { return obstacle.Load().(string) }
	started := make(chan struct{})
	r = launchGroup(&Group{Managed: next}, Service{Name: "a", Start: func(context.Context) error { alive(); close(started); return nil }})
	<-started
	read = append(read, s.await("STATUS=not ready: no dog leads")...)
	alive()
	obstacle.Store("")
	read = append(read, s.await("READY=1")...)
	if all := strings.Join(read, "\n"); strings.Contains(all, "STOPPING=1") || !strings.Contains(all, "STATUS=starting again: a: another dog leads") {
		t.Errorf("%q", read)
	}
	s.terminate(r)
}

// A signal while a group is drained to start again ends the process, and so does another failure.
func TestManagerOfAGroupThatStartsNoMore(t *testing.T) {
	s := newManager(t, "")
	fails := make(chan error, 1)
	var r running
	r = launchGroup(&Group{Managed: s.again()}, Service{
		Name:  "a",
		Run:   func(context.Context) error { return <-fails },
		Drain: func(context.Context) error { r.signals <- syscall.SIGTERM; return nil },
	})
	fails <- errAgain
	s.await("STOPPING=1")
	if err := <-r.result; !errors.Is(err, errAgain) {
		t.Error(err)
	}
	s = newManager(t, "")
	r = launchGroup(&Group{Managed: s.again()}, Service{Name: "a", Run: func(context.Context) error { return errors.New("no dog is left") }})
	s.await("STOPPING=1")
	if err := <-r.result; err == nil {
		t.Error("no error")
	}
}

// Answers counts a call that returns late as a sign of life, and makes no second one beside it.
func TestAnswers(t *testing.T) {
	calls, release := 0, make(chan struct{})
	alive := Answers(func() { calls++; <-release })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if err := alive(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("held: %v", err)
		}
	}
	close(release)
	if err := alive(t.Context()); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if err := alive(t.Context()); err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// The manager learns when a reload begins, and when the last part has done it.
func TestReloads(t *testing.T) {
	s := newManager(t, "")
	if err := s.Ready("ready"); err != nil {
		t.Fatal(err)
	}
	s.await("READY=1")
	r := NewReloads(s.Manager)
	defer r.Stop()
	parts := []<-chan os.Signal{r.Part(), r.Part()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for range 2 {
		r.signals <- syscall.SIGHUP
		for _, p := range parts {
			<-p
		}
		r.Done()
		if err := s.Status("one part is left"); err != nil {
			t.Fatal(err)
		}
		r.Done()
		got := s.await("READY=1")
		if len(got) != 3 || !strings.HasPrefix(got[0], "RELOADING=1\n") || got[1] != "STATUS=one part is left" {
			t.Errorf("%q", got)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A signal that comes while a part still has one waiting is not counted twice.
func TestReloadsInARow(t *testing.T) {
	s := newManager(t, "")
	if err := s.Ready("ready"); err != nil {
		t.Fatal(err)
	}
	s.await("READY=1")
	r := NewReloads(s.Manager)
	defer r.Stop()
	part := r.Part()
	r.pass(syscall.SIGHUP)
	r.pass(syscall.SIGHUP)
	<-part
	r.Done()
	if got := s.await("READY=1"); len(got) != 2 {
		t.Errorf("%q", got)
	}
}
