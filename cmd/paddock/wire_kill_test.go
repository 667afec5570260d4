package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/perf"
)

// These tests kill a process during a verifying run, again and again, and check the surviving side,
// which is in this process: its report about each call must agree with the records of the other
// side, and the killed processes must leave nothing behind.
//
//	wire_kill_server_test.go: the server is killed and started again
//	wire_kill_client_test.go: clients are killed, and others come under their name

const (
	// fewKills is how many processes are killed, of both sides together, where
	// PADDOCK_KILLS says nothing.
	fewKills = 6
	// killTime bounds the work for one kill on a busy machine.
	killTime = 20 * time.Second
	// killPayload is the size of the bodies.
	killPayload = 64
	// killDelay is how long the server takes for a request: most of the time, so that
	// each kill finds some that were seen and not answered.
	killDelay = 10 * time.Millisecond
)

// killPlan is how often to kill, and when.
type killPlan struct {
	kills  int
	random *rand.Rand
}

// planKills reads PADDOCK_KILLS, of which side has half, and PADDOCK_KILL_SEED,
// which decides the moments.
func planKills(t *testing.T, side int) (context.Context, killPlan) {
	t.Helper()
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	seed := number("PADDOCK_KILL_SEED", rand.Uint64()>>1)
	kills := (int(number("PADDOCK_KILLS", fewKills)) + side) / 2
	t.Logf("%d kills; PADDOCK_KILL_SEED=%d brings the same moments", kills, seed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills+2)*killTime)
	t.Cleanup(cancel)
	return ctx, killPlan{kills, rand.New(rand.NewPCG(seed, uint64(side)))}
}

// chance says yes one time in n.
func (p *killPlan) chance(n int) bool { return p.random.IntN(n) == 0 }

// pass lets a random time pass, up to most: the moment of a kill is no state that
// one could wait for.
func (p *killPlan) pass(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(time.Duration(p.random.Int64N(int64(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// killable is a process of paddock.
type killable struct {
	cmd   *exec.Cmd
	log   bytes.Buffer // standard error; to be read once it has ended
	first chan string  // the first line of its standard output, if there is one
	ended chan struct{}
	err   error // of its end
}

// startKillable runs paddock until it is killed, ctx ends or the test does.
func startKillable(ctx context.Context, t *testing.T, args ...string) *killable {
	t.Helper()
	p := &killable{first: make(chan string, 1), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, plain(t), append(args, "--log-level", "error")...)
	p.cmd.Stdout, p.cmd.Stderr = &lineWriter{first: p.first}, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9; it returns when the process is gone.
func (p *killable) kill() {
	_ = p.cmd.Process.Kill() // an error if it is gone already
	<-p.ended
}

// alive fails the test if the process has ended by itself.
func (p *killable) alive(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("process %d has ended by itself: %v\n%s", p.cmd.Process.Pid, p.err, p.log.String())
	default:
	}
}

// lineWriter hands over the first line.
type lineWriter struct {
	line  []byte
	first chan<- string // nil: it was handed over
}

func (w *lineWriter) Write(b []byte) (int, error) {
	if w.first != nil {
		w.line = append(w.line, b...)
		if line, _, whole := strings.Cut(string(w.line), "\n"); whole {
			w.first <- line
			w.first = nil
		}
	}
	return len(b), nil
}

// until waits for nil.
func until(ctx context.Context, t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// longer is nil once the file has more than n bytes.
func longer(path string, n int64) error {
	info, err := os.Stat(path)
	if err == nil && info.Size() <= n {
		err = fmt.Errorf("%s has %d bytes", filepath.Base(path), info.Size())
	}
	return err
}

// resources counts the resources of this process, to find leaks.
type resources struct {
	goroutines goleak.Option
	files      int
}

func holds(t *testing.T) resources { return resources{goleak.IgnoreCurrent(), openFiles(t)} }

// noMore is nil if this process holds nothing that it did not hold before.
func (r resources) noMore(t *testing.T) error {
	err := goleak.Find(r.goroutines)
	if n := openFiles(t); n > r.files {
		err = errors.Join(err, fmt.Errorf("%d descriptors are open, %d were before", n, r.files))
	}
	return err
}

// openFiles counts descriptors, where the system lists them.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

// readAcked returns the records of a journal, none of one whose process has not come
// to make it.
func readAcked(t *testing.T, path string) (all []perf.Acked) {
	t.Helper()
	for a, err := range perf.ReadJournal(path) {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// checkJournal checks the posts that a server has kept: each number of a lane once, in order, from
// 1 on and without a gap; each body once and as it was sent; and no post of an epoch after its
// successor has taken over.
func checkJournal(t *testing.T, records []perf.Acked) {
	t.Helper()
	last := map[perf.Lane]uint64{}
	epochs := map[[16]byte]uint64{}
	calls := map[perf.Call]perf.Acked{}
	for i, a := range records {
		if last[a.Lane]++; a.Number != last[a.Lane] {
			t.Fatalf("record %d of the server's journal, %v, came behind number %d", i, a, last[a.Lane]-1)
		}
		if before, twice := calls[a.Call()]; twice {
			t.Errorf("one post has two numbers: %v and %v", before, a)
		}
		calls[a.Call()] = a
		if !a.Intact(killPayload) {
			t.Errorf("%v is not what was sent: %+v", a, a.Call())
		}
		if a.Epoch < epochs[a.Session] {
			t.Errorf("%v came behind epoch %d", a, epochs[a.Session])
		}
		epochs[a.Session] = a.Epoch
	}
}

// checkKept checks that the server has everything that a client was told was kept.
func checkKept(t *testing.T, server []perf.Acked, client string) (kept int) {
	t.Helper()
	had := make(map[perf.Acked]bool, len(server))
	for _, a := range server {
		had[a] = true
	}
	for _, a := range readAcked(t, client) {
		if kept++; !had[a] {
			t.Errorf("%s: %v was acknowledged, and the server does not have it", filepath.Base(client), a)
		}
	}
	return kept
}
