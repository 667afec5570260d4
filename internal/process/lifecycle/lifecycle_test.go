package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// history records the calls of services, in order.
type history struct {
	mu    sync.Mutex
	lines []string
}

func (h *history) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// service returns a service that only records its calls.
func (h *history) service(name string) Service {
	return Service{
		Name:  name,
		Start: func(context.Context) error { h.add("start %s", name); return nil },
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			h.add("end %s", name)
			return ctx.Err()
		},
		Drain: func(context.Context) error { h.add("drain %s", name); return nil },
	}
}

func (h *history) expect(t *testing.T, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.lines, want) {
		t.Errorf("history:\n  got  %s\n  want %s", strings.Join(h.lines, ", "), strings.Join(want, ", "))
	}
}

// running is a Group in a goroutine, and its channel of signals.
type running struct {
	signals chan os.Signal
	result  chan error
}

func launchGroup(g *Group, services ...Service) running {
	r := running{make(chan os.Signal), make(chan error, 1)}
	g.Signals = r.signals
	for _, s := range services {
		g.Add(s)
	}
	go func() { r.result <- g.Run(context.Background()) }()
	return r
}

// signal sends a signal once all other goroutines are blocked.
func (r running) signal(s os.Signal) {
	synctest.Wait()
	r.signals <- s
}

func TestStartsBackToFrontAndDrainsFrontToBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		r := launchGroup(new(Group), h.service("store"), h.service("ingest"), h.service("http"))
		synctest.Wait()
		h.expect(t, "start store", "start ingest", "start http")
		r.signal(syscall.SIGTERM)
		if err := <-r.result; err != nil {
			t.Error(err)
		}
		h.expect(
			t, "start store", "start ingest", "start http",
			"drain http", "end http", "drain ingest", "end ingest", "drain store", "end store",
		)
	})
}

func TestACancelledContextDrainsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		ctx, cancel := context.WithCancel(t.Context())
		g := &Group{Signals: make(chan os.Signal)}
		g.Add(h.service("a"))
		time.AfterFunc(time.Minute, cancel)
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
		h.expect(t, "start a", "drain a", "end a")
	})
}

func TestAFailureDrainsTheRestAndIsReturned(t *testing.T) {
	errDisk := errors.New("disk full")
	synctest.Test(t, func(t *testing.T) {
		var h history
		failing := Service{Name: "log", Run: func(context.Context) error { return errDisk }}
		r := launchGroup(new(Group), h.service("a"), failing, h.service("b"))
		err := <-r.result
		if !errors.Is(err, errDisk) || err.Error() != "log: disk full" {
			t.Errorf("got %v", err)
		}
		if last := h.lines[len(h.lines)-2:]; !slices.Equal(last, []string{"drain a", "end a"}) {
			t.Errorf("drain was cut short: %v", h.lines)
		}
	})
}

func TestAServiceThatIsDoneLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		loader := Service{Name: "loader", Run: func(context.Context) error { return nil }}
		r := launchGroup(new(Group), loader, h.service("a"))
		synctest.Wait()
		h.expect(t, "start a")
		r.signal(os.Interrupt)
		if err := <-r.result; err != nil {
			t.Error(err)
		}
	})
}

func TestAFailedStartDrainsWhatHasStarted(t *testing.T) {
	errPort := errors.New("port taken")
	synctest.Test(t, func(t *testing.T) {
		var h history
		bad := h.service("bad")
		bad.Start = func(context.Context) error { return errPort }
		r := launchGroup(new(Group), h.service("a"), bad, h.service("never"))
		if err := <-r.result; !errors.Is(err, errPort) || err.Error() != "start bad: port taken" {
			t.Errorf("got %v", err)
		}
		h.expect(t, "start a", "drain a", "end a")
	})
}

func TestASignalCutsAStartShort(t *testing.T) {
	for _, why := range []func(context.Context) error{context.Context.Err, context.Cause} {
		synctest.Test(t, func(t *testing.T) {
			var h history
			slow := h.service("slow")
			slow.Start = func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("slow: %w", why(ctx)) }
			r := launchGroup(new(Group), h.service("a"), slow)
			r.signal(syscall.SIGTERM)
			if err := <-r.result; err != nil {
				t.Error(err)
			}
			h.expect(t, "start a", "drain a", "end a")
		})
	}
}

func TestDrainHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		slow := h.service("slow")
		slow.Drain = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r := launchGroup(&Group{Timeout: 10 * time.Second}, h.service("a"), slow)
		r.signal(syscall.SIGTERM)
		begun := time.Now()
		err := <-r.result
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "drain slow: ") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		h.expect(t, "start a", "start slow", "end slow", "drain a", "end a")
	})
}

func TestAStuckServiceIsLeftBehindAndNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		release := make(chan struct{})
		stuck := Service{Name: "stuck", Run: func(context.Context) error { <-release; return nil }}
		r := launchGroup(&Group{Timeout: 10 * time.Second}, h.service("a"), stuck)
		r.signal(syscall.SIGTERM)
		begun := time.Now()
		if err := <-r.result; !errors.Is(err, ErrStuck) || err.Error() != "stuck: did not stop in time" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begun); took != 10*time.Second+stopGrace {
			t.Errorf("took %v", took)
		}
		h.expect(t, "start a", "drain a", "end a")
		close(release)
	})
}

func TestASecondSignalForces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		release := make(chan struct{})
		slow := Service{Name: "slow", Drain: func(context.Context) error { <-release; return nil }}
		r := launchGroup(new(Group), h.service("a"), slow)
		r.signal(syscall.SIGTERM)
		<-time.After(echo)
		r.signal(syscall.SIGTERM)
		err := <-r.result
		var coder interface{ ExitCode() int }
		if !errors.Is(err, ErrForced) || !errors.As(err, &coder) || coder.ExitCode() != 130 {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

// timeout(1) and terminals signal a process and then its whole group.
func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		release := make(chan struct{})
		slow := Service{Name: "slow", Drain: func(context.Context) error { <-release; h.add("drained slow"); return nil }}
		r := launchGroup(new(Group), h.service("a"), slow)
		r.signal(syscall.SIGTERM)
		r.signal(syscall.SIGTERM)
		synctest.Wait()
		close(release)
		if err := <-r.result; err != nil {
			t.Errorf("got %v", err)
		}
		h.expect(t, "start a", "drained slow", "drain a", "end a")
	})
}

func TestAFailureWhileDrainingIsReturned(t *testing.T) {
	errFlush := errors.New("flush")
	synctest.Test(t, func(t *testing.T) {
		var h history
		bad := h.service("bad")
		bad.Drain = func(context.Context) error { return errFlush }
		r := launchGroup(new(Group), h.service("a"), bad)
		r.signal(syscall.SIGTERM)
		if err := <-r.result; !errors.Is(err, errFlush) {
			t.Errorf("got %v", err)
		}
		h.expect(t, "start a", "start bad", "end bad", "drain a", "end a")
	})
}

// A signal that comes while a failure is drained does not hide the failure, and is told beside it.
func TestASignalWhileAFailureIsDrained(t *testing.T) {
	errDisk := errors.New("disk full")
	for _, signalled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			g := new(Group)
			r := launchGroup(g, Service{
				Name:  "log",
				Run:   func(context.Context) error { return errDisk },
				Drain: func(context.Context) error { <-release; return nil },
			})
			if signalled {
				r.signal(syscall.SIGTERM)
			}
			close(release)
			if err := <-r.result; !errors.Is(err, errDisk) || g.Stopped() != signalled {
				t.Errorf("%v, stopped: %t, want %t", err, g.Stopped(), signalled)
			}
		})
	}
}

// A signal that no goroutine has received before the end of Run counts too.
func TestASignalAtTheEnd(t *testing.T) {
	errDisk, signals := errors.New("disk full"), make(chan os.Signal, 1)
	g := &Group{Signals: signals}
	g.Add(Service{Name: "log", Start: func(context.Context) error { return errDisk }})
	if err := g.Run(t.Context()); !errors.Is(err, errDisk) || g.Stopped() {
		t.Errorf("%v, stopped: %t", err, g.Stopped())
	}
	signals <- syscall.SIGTERM
	if !g.Stopped() {
		t.Error("the signal is lost")
	}
}

func TestEveryStepIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		var text strings.Builder
		g := &Group{Logger: slog.New(slog.NewTextHandler(&text, nil))}
		r := launchGroup(g, h.service("bus"))
		r.signal(syscall.SIGTERM)
		<-r.result
		rest := text.String()
		for _, step := range []string{
			"signal=terminated", "msg=drained service=bus", "msg=stopped",
		} {
			_, after, found := strings.Cut(rest, step)
			if !found {
				t.Fatalf("%q is missing, or out of order, in\n%s", step, text.String())
			}
			rest = after
		}
	})
}

func TestRealSignals(t *testing.T) {
	var g Group
	g.Add(Service{Name: "self", Run: func(ctx context.Context) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}})
	if err := g.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// A request that is being answered when the signal arrives is completed.
func TestHTTPFinishesRequestsInFlight(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "done")
	})}
	draining := make(chan struct{})
	srv.RegisterOnShutdown(func() { close(draining) })

	r := launchGroup(new(Group), HTTP("http", srv, ln))
	answer := make(chan string, 1)
	go func() {
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get("http://" + ln.Addr().String())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answer <- string(body)
	}()
	<-entered
	r.signals <- syscall.SIGTERM
	<-draining
	close(leave)
	if got := <-answer; got != "done" {
		t.Errorf("answer %q", got)
	}
	if err := <-r.result; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		conn.Close()
		t.Error("still accepts after the drain")
	}
}

func TestHTTPFailsWhenItsListenerDoes(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	r := launchGroup(new(Group), HTTP("http", new(http.Server), ln))
	if err := <-r.result; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
