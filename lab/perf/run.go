package perf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"paddock/lab/process"
	"paddock/wire"
)

// Conn is a connection of a run, or a client that reconnects.
type Conn interface {
	CallAppend(ctx context.Context, dst []byte, kind string, body []byte) ([]byte, error)
	Post(ctx context.Context, kind string, body []byte) error
	PostBatch(ctx context.Context, kind string, bodies [][]byte) error
	PostAck(ctx context.Context, kind string, body []byte) (number uint64, err error)
	WaitAcked(ctx context.Context, number uint64) error
	Acked() uint64
	Open(ctx context.Context, kind string, o wire.OpenOptions) (*wire.Stream, error)
}

var (
	_ Conn = (*wire.Conn)(nil)
	_ Conn = (*wire.Client)(nil)
)

const (
	// settleTime bounds the queries to the server when the run is over: it must have handled
	// everything that the connections still carry.
	settleTime = 30 * time.Second
	// stallTime is how long the server's count of posts may stand still before the
	// rest counts as lost.
	stallTime = 3 * time.Second
	// pollTime lies between two looks at that count.
	pollTime = 5 * time.Millisecond
)

// Run is one run over connections that are open. It is used once.
type Run struct {
	Options
	Conns     []Conn // Options.Conns of them
	WithFloor bool   // also measures raw TCP, before and after

	target  Target
	latency *latency
	run     uint64 // names the bodies of a verifying run
	session wire.Session
	journal *Journal      // of acknowledged posts; nil: not kept
	enough  atomic.Bool   // no more calls begin
	stalled bool          // missing calls do not arrive any more
	stall   time.Duration // stallTime but in tests

	mu       sync.Mutex // guards the following fields
	failed   int64
	failures []FailedCall
	corrupt  [classes]int64
}

// Prepare makes the run ready: from then on Done may be called.
func (r *Run) Prepare() error {
	if err := r.Check(); err != nil {
		return err
	}
	if len(r.Conns) != r.Options.Conns {
		return fmt.Errorf("%w: %d connections are open, not %d", ErrOptions, len(r.Conns), r.Options.Conns)
	}
	r.latency, r.run, r.stall = newLatency(), rand.Uint64(), stallTime
	return nil
}

// Done is how many operations have been done so far. Any goroutine may ask.
func (r *Run) Done() int64 { return r.latency.done.Load() }

// Finish lets no more calls begin: Measure returns once those under way have come
// to their end. Any goroutine may say it.
func (r *Run) Finish() { r.enough.Store(true) }

// over says that no more calls begin.
func (r *Run) over(ctx context.Context) bool { return ctx.Err() != nil || r.enough.Load() }

// snapshot holds the counters of both ends at one moment.
type snapshot struct {
	client Usage
	stats  map[string]int64
	server serverReport
	each   []map[string]int64 // the server's counters, by connection
}

// Measure runs until everything is done or ctx ends, and reports the measurements. An error means
// that there is nothing to report; Report.Err tells whether the run was a success.
func (r *Run) Measure(ctx context.Context) (*Report, error) {
	report := &Report{Options: r.Options, Unit: r.unit(), Addr: r.target.Addr, TLS: r.target.TLS != nil}
	if r.WithFloor {
		report.Floor = &Floor{}
		if err := report.Floor.measure(ctx, r.askFloor, r.Payload); err != nil {
			return nil, err
		}
	}
	before, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	workers := r.workers()
	for _, w := range workers {
		w.hadBefore = before.each[w.connIndex][statPosts]
	}
	report.Elapsed = r.work(ctx, workers)
	report.Interrupted = ctx.Err() != nil && r.Done() < r.Total()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	after, err := r.look(ctx)
	if err == nil && r.WithFloor {
		err = report.Floor.measure(ctx, r.askFloor, r.Payload)
	}
	if err != nil {
		report.Unsettled = err.Error()
	}
	r.settle(ctx, report, workers, before, after)
	report.Failed, report.Failures = r.failed, r.failures
	return report, nil
}

// work lets all workers go at the same moment and returns the time until the last
// outcome. For posts that is the server's word that it has had them.
func (r *Run) work(ctx context.Context, workers []*worker) time.Duration {
	begin := make(chan struct{})
	var all sync.WaitGroup
	for _, conn := range r.byConn(workers) {
		var routines sync.WaitGroup
		for _, w := range conn {
			routines.Go(func() {
				<-begin
				w.work(ctx)
				w.rec.flush()
			})
		}
		all.Go(func() {
			routines.Wait()
			if r.Do == Post {
				r.barrier(ctx, conn)
			}
		})
	}
	start := time.Now()
	close(begin)
	all.Wait()
	return time.Since(start)
}

// barrier waits until the server has had the posts of one connection: a request
// goes behind them. It gives up when their number stands still.
func (r *Run) barrier(ctx context.Context, conn []*worker) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	var sent int64
	for _, w := range conn {
		sent += w.sent
	}
	var last int64
	for changed := time.Now(); time.Since(changed) < r.stall; {
		s, err := ask[serverReport](ctx, conn[0].conn, kindReport, nil)
		if err != nil {
			r.fail(FailedCall{Verb: "barrier", Conn: conn[0].connIndex, Error: err.Error()})
			return
		}
		had := s.Stats[statPosts]
		if had-conn[0].hadBefore >= sent {
			return
		}
		if had != last {
			last, changed = had, time.Now()
		}
		time.Sleep(pollTime)
	}
}

// look reads the counters of both ends. With an error it returns the known ones.
func (r *Run) look(ctx context.Context) (s snapshot, err error) {
	s.client, s.stats = usage(), r.stats()
	s.each = make([]map[string]int64, len(r.Conns))
	for i, c := range r.Conns {
		one, err := ask[serverReport](ctx, c, kindReport, nil)
		if err != nil {
			return s, fmt.Errorf("ask the server for its counters, on connection %d: %w", i, err)
		}
		s.each[i] = one.Stats
		s.server = one
	}
	s.client, s.stats = usage(), r.stats()
	return s, nil
}

// settle fills in the differences of two looks.
func (r *Run) settle(ctx context.Context, report *Report, workers []*worker, before, after snapshot) {
	report.Ops = r.Done()
	report.Stats = after.stats
	report.Latency = r.latency.summary(r.timed())
	if s := report.Elapsed.Seconds(); s > 0 {
		report.Throughput = float64(report.Ops) / s
		if r.Do != Verify {
			report.Payloads = report.Throughput * float64(r.Payload)
		}
	}
	client := after.client.since(before.client)
	report.Client = End{CPU: client.CPU, Allocs: client.Allocs}
	report.Client.perOp(report.Ops, after.stats[statBytes]-before.stats[statBytes], after.stats[statWrites]-before.stats[statWrites])
	had, served := sumStats(before.each), sumStats(after.each)
	if after.server.Instance == before.server.Instance && r.reconnects() == 0 { // else they count from another beginning
		server := after.server.Usage.since(before.server.Usage)
		report.Server = End{CPU: server.CPU, Allocs: server.Allocs}
		report.Server.perOp(report.Ops, served[statBytes]-had[statBytes], served[statWrites]-had[statWrites])
	}
	switch r.Do {
	case Post:
		report.Delivery = &Delivery{Received: max(0, served[statPosts]-had[statPosts]-(served[statUnserved]-had[statUnserved]))}
		for _, w := range workers {
			report.Delivery.Sent += w.sent
		}
	case Verify:
		report.Verified = r.reconcile(ctx, report, workers, before.server, after.server)
	}
}

// fail records a failed call.
func (r *Run) fail(f FailedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if len(r.failures) < maxFailures {
		r.failures = append(r.failures, f)
	}
}

// askFloor asks the server for a raw connection.
func (r *Run) askFloor(ctx context.Context) (floorPlace, error) {
	return ask[floorPlace](ctx, r.Conns[0], kindFloor, nil)
}

// ask sends a request whose answer is JSON; so is its body, unless query is nil.
func ask[T any](ctx context.Context, c Conn, kind string, query any) (answer T, err error) {
	var body []byte
	if query != nil {
		if body, err = json.Marshal(query); err != nil {
			return answer, err
		}
	}
	b, err := c.CallAppend(ctx, nil, kind, body)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(b, &answer)
}

// interrupted reports whether a call has failed because the run was told to end: calls in flight
// are given up then. A wrong body remains a failure.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && !errors.Is(err, errBody)
}

// counters are those of a connection; of a client, those of the connections that
// it has now.
func counters(c Conn) (sum wire.Stats) {
	switch c := c.(type) {
	case interface{ Stats() wire.Stats }:
		return c.Stats()
	case *wire.Client:
		for _, one := range c.Conns() {
			sum.Add(one.Stats())
		}
	}
	return sum
}

// stats are the counters of the client's connections together.
func (r *Run) stats() map[string]int64 {
	var all wire.Stats
	for _, c := range r.Conns {
		all.Add(counters(c))
	}
	return all.Map()
}

// reconnects is how often the clients of a run have made a connection again.
func (r *Run) reconnects() (n int64) {
	for _, c := range r.Conns {
		if client, ok := c.(*wire.Client); ok {
			n += max(0, int64(client.Stats().Connects)-1)
		}
	}
	return n
}

// Usage is the use of a process since it started.
type Usage struct {
	CPU    time.Duration `json:"cpu_ns"` // user and system time of all threads
	Allocs uint64        `json:"allocs"` // objects of Go's heap
}

// usage asks the kernel and the runtime. The runtime counts the tiny objects that
// it packs together apart from the others.
func usage() Usage {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(s)
	cpu, _ := process.CPU(os.Getpid()) // 0 where it is not known
	return Usage{CPU: cpu, Allocs: s[0].Value.Uint64() + s[1].Value.Uint64()}
}

func (u Usage) since(before Usage) Usage {
	return Usage{CPU: u.CPU - before.CPU, Allocs: u.Allocs - before.Allocs}
}
