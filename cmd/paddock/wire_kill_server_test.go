package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/lab/perf"
	"paddock/wire"
)

// killedServer is the server that is killed: one process after the other, at one
// address, with one journal. Each process records the calls that reached its handlers.
type killedServer struct {
	dir       string
	address   string
	now       *killable
	processes int
}

func (s *killedServer) journal() string     { return filepath.Join(s.dir, "server.journal") }
func (s *killedServer) seen(i int) string   { return filepath.Join(s.dir, fmt.Sprintf("seen.%d", i)) }
func (s *killedServer) sawSomething() error { return longer(s.seen(s.processes-1), 0) }
func (s *killedServer) clientsBook() string { return filepath.Join(s.dir, "client.journal") }

// start starts the next process and waits until it listens.
func (s *killedServer) start(ctx context.Context, t *testing.T) {
	t.Helper()
	s.now = startKillable(ctx, t, "wire", "serve", "--addr", s.address, "--journal", s.journal(), "--seen", s.seen(s.processes), "--delay", killDelay.String())
	s.processes++
	select {
	case s.address = <-s.now.first:
	case <-s.now.ended:
		s.now.alive(t)
	}
}

// A server is killed and started again while clients in this process continue. They report the
// outcome of each call correctly. Every acknowledged post is in the server's journal, once and in
// order. No resource is left behind.
func TestServerIsKilled(t *testing.T) {
	ctx, plan := planKills(t, 1)
	before := holds(t)
	server := &killedServer{dir: t.TempDir(), address: "127.0.0.1:0"}
	server.start(ctx, t)

	run, closeAll, err := perf.Open(ctx, perf.Target{Network: "tcp", Addr: server.address, Reconnect: true}, perf.Options{
		Do: perf.Verify, Count: 1 << 30, Routines: 3, Conns: 2, Batch: 1, Payload: killPayload, Stream: 8, Sample: 1,
		Timeout: 150 * time.Millisecond, // so that some calls end before there is a server again
	})
	if err != nil {
		t.Fatal(err)
	}
	closeBook, err := run.KeepAcknowledged(server.clientsBook())
	if err != nil {
		t.Fatal(err)
	}
	measured := make(chan *perf.Report, 1)
	go func() {
		r, err := run.Measure(ctx)
		if err != nil {
			t.Error(err)
		}
		measured <- r
	}()
	for range plan.kills {
		if !plan.chance(4) { // else perhaps before a client has connected
			until(ctx, t, "the client has not come back", server.sawSomething)
		}
		plan.pass(ctx, 200*time.Millisecond)
		server.now.alive(t)
		server.now.kill()
		plan.pass(ctx, 400*time.Millisecond)
		server.start(ctx, t)
	}
	until(ctx, t, "the client has not come back", server.sawSomething)
	run.Finish()
	report := <-measured
	if report == nil {
		return
	}
	until(ctx, t, "the clients are not at rest", func() error { return atRest(run) })
	resent := resentBy(run)
	closeAll()
	if err := errors.Join(closeBook(), server.now.cmd.Process.Signal(syscall.SIGTERM)); err != nil {
		t.Error(err)
	}
	<-server.now.ended
	if server.now.err != nil {
		t.Errorf("the last server: %v\n%s", server.now.err, server.now.log.String())
	}
	until(ctx, t, "the clients have left something behind", func() error { return before.noMore(t) })

	if err := report.Err(); err != nil || !report.Verified.Restarted || report.Interrupted {
		t.Errorf("%v: %+v", err, report.Verified)
	}
	checkServerKills(t, server, report, resent)
}

// atRest is nil if the clients hold nothing of the calls that they have made.
func atRest(run *perf.Run) error {
	for i, c := range run.Conns {
		client := c.(*wire.Client)
		s := client.Stats()
		if s.Connections != 1 || s.Waiting != 0 || s.Unacked != 0 || s.UnackedBytes != 0 {
			return fmt.Errorf("client %d: %+v", i, s)
		}
		for _, conn := range client.Conns() {
			if s := conn.Stats(); s.Inflight != 0 || s.Streams != 0 || s.QueuedBytes != 0 || s.Keyed != 0 {
				return fmt.Errorf("connection of client %d: %+v", i, s)
			}
		}
	}
	return nil
}

func resentBy(run *perf.Run) (n uint64) {
	for _, c := range run.Conns {
		n += c.(*wire.Client).Stats().Resent
	}
	return n
}

// routine is where calls of one verb come from.
type routine struct {
	verb string
	lane uint32
}

// witnessed counts the calls that reached the servers, by routine and number.
type witnessed map[routine]map[uint64]int

// whatWasSeen reads what each of the servers has seen. Posts come behind those before
// them; those to be acknowledged may begin again with each server.
func (s *killedServer) whatWasSeen(t *testing.T) witnessed {
	t.Helper()
	all := witnessed{}
	last := map[routine]uint64{}
	for i := range s.processes {
		here := map[routine]uint64{}
		for seen, err := range readSeen(s.seen(i)) {
			if errors.Is(err, os.ErrNotExist) { // killed before it made the file
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			from := routine{seen.Verb, seen.Lane}
			if all[from] == nil {
				all[from] = map[uint64]int{}
			}
			all[from][seen.Seq]++
			before := last[from]
			if seen.Verb == "acked post" {
				before = here[from]
			}
			ordered := seen.Verb == "post" || seen.Verb == "acked post"
			if ordered && seen.Seq <= before {
				t.Errorf("server %d had %s %d of lane %d behind %d", i, seen.Verb, seen.Seq, seen.Lane, before)
			}
			last[from], here[from] = seen.Seq, seen.Seq
		}
	}
	return all
}

// checkServerKills compares the report with the records and the journal of the servers.
func checkServerKills(t *testing.T, server *killedServer, report *perf.Report, resent uint64) {
	t.Helper()
	records := readAcked(t, server.journal())
	checkJournal(t, records)
	kept := checkKept(t, records, server.clientsBook())
	inJournal := map[routine]map[uint64]int{}
	for _, a := range records {
		from := routine{"acked post", a.Call().Lane}
		if inJournal[from] == nil {
			inJournal[from] = map[uint64]int{}
		}
		inJournal[from][a.Call().Seq]++
	}
	seen := server.whatWasSeen(t)
	failed := failedCalls(t, report)
	sums := map[string]int{}
	var begun uint64
	for _, account := range report.Accounts {
		from := routine{account.Verb, report.Lane(account.Conn, account.Routine)}
		begun += account.Begun
		for seq := uint64(1); seq <= account.Begun; seq++ {
			sent, said := failed[from][seq]
			outcome := "done"
			if said {
				outcome = string(sent)
			}
			if said == account.Done(seq) {
				t.Errorf("%v %d: done is %t, and so is failed", from, seq, said)
			}
			least, most := mayBeSeen(from.verb, outcome)
			if n := seen[from][seq]; n < least || n > most {
				t.Errorf("%v %d is reported as %s, and was seen %d times", from, seq, outcome, n)
			}
			if n := inJournal[from][seq]; from.verb == "acked post" && (n > 1 || n != 1 && outcome == "done" || n != 0 && outcome == "no") {
				t.Errorf("%v %d is reported as %s, and is in the journal %d times", from, seq, outcome, n)
			}
			sums[outcome]++
			if outcome == string(perf.SentMaybe) {
				sums["maybe seen"] += seen[from][seq]
			}
			if from.verb == "post" && outcome == "done" && seen[from][seq] == 0 {
				sums["lost posts"]++
			}
			delete(seen[from], seq)
			delete(failed[from], seq)
		}
	}
	for from, rest := range seen {
		if len(rest) > 0 {
			t.Errorf("the servers had %d calls of %v that nobody has made", len(rest), from)
		}
	}
	for from, rest := range failed {
		if len(rest) > 0 {
			t.Errorf("%d calls of %v are reported as failed that nobody has made", len(rest), from)
		}
	}
	v := report.Verified
	if int64(kept) != v.Acked.Done || kept == 0 {
		t.Errorf("%d posts are in the client's journal, of %d that were acknowledged", kept, v.Acked.Done)
	}
	t.Logf("%d servers, %d reconnects in %v: %d calls, of which %d done, %d not sent, %d maybe sent (%d were), %d answered with an error",
		server.processes, v.Reconnects, report.Elapsed.Round(time.Millisecond), begun, sums["done"], sums["no"], sums["maybe"], sums["maybe seen"], sums["yes"])
	t.Logf("%d acknowledged posts, %d in the server's journal, %d sent again; %d plain posts were queued and lost",
		v.Acked.Done, len(records), resent, sums["lost posts"])
}

// mayBeSeen is how often a call may have reached a handler, by what was reported.
func mayBeSeen(verb, outcome string) (least, most int) {
	const often = 1 << 30
	switch {
	case outcome == string(perf.SentNot):
		return 0, 0
	case verb == "acked post" && outcome == "done":
		return 1, often // it was sent until it was acknowledged
	case verb == "acked post":
		return 0, often
	case verb == "post", outcome == string(perf.SentMaybe):
		return 0, 1 // of a plain post no more was promised
	}
	return 1, 1
}

// failedCalls lists the calls that are reported as failed, each once.
func failedCalls(t *testing.T, report *perf.Report) map[routine]map[uint64]perf.Sent {
	t.Helper()
	if int64(len(report.Failures)) != report.Failed {
		t.Errorf("%d of %d failed calls are listed", len(report.Failures), report.Failed)
	}
	all := map[routine]map[uint64]perf.Sent{}
	for _, f := range report.Failures {
		from := routine{f.Verb, report.Lane(f.Conn, f.Routine)}
		if all[from] == nil {
			all[from] = map[uint64]perf.Sent{}
		}
		if _, twice := all[from][f.Seq]; twice {
			t.Errorf("%s %d of %v is listed twice", f.Verb, f.Seq, from)
		}
		all[from][f.Seq] = f.Sent
	}
	return all
}

// seenCall is a call that has reached a handler of a server.
type seenCall struct {
	Verb string
	perf.Call
}

// readSeen yields the calls in the file of --seen in their order, or an error at the end. It leaves
// out an incomplete line at the end: its handler has done nothing.
func readSeen(path string) iter.Seq2[seenCall, error] {
	return func(yield func(seenCall, error) bool) {
		text, err := os.ReadFile(path)
		if err != nil {
			yield(seenCall{}, err)
			return
		}
		for line := range strings.Lines(string(text)) {
			var c seenCall
			verb := 0
			if !strings.HasSuffix(line, "\n") {
				return
			}
			_, err := fmt.Sscanf(line, "%d %d %d %d\n", &verb, &c.Run, &c.Lane, &c.Seq)
			c.Verb = []string{"post", "acked post", "request", "stream"}[min(verb, 3)]
			if !yield(c, err) {
				return
			}
		}
	}
}
