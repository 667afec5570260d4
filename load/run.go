package load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock/load/histogram"
)

// probeTime is how long the first connection may take: a service that is not there is
// told at once, not after a run.
const probeTime = 5 * time.Second

// engine runs the loops' connections until each driver is at its end.
type engine interface {
	// drive runs one thread's driver. It returns when it is at its end.
	drive(d *driver, thread int, clock clock) error
}

// clock tells the time of a run.
type clock struct{ zero time.Time }

func (c clock) now() int64 { return int64(time.Since(c.zero)) }

// Run makes the load of the plan and returns its result. When ctx ends, Run stops sending, waits
// for answers for the plan's grace and returns the result so far, with Stopped set. An error gives
// the reason why nothing was measured. observer may be nil.
func Run(ctx context.Context, plan Plan, observer Observer) (*Result, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	address, dns, err := resolve(ctx, &plan)
	if err != nil {
		return nil, err
	}
	plan.Address = address
	if err := probe(ctx, &plan); err != nil {
		return nil, err
	}
	e, kind, err := newEngine(&plan)
	if err != nil {
		return nil, err
	}
	r := &run{plan: &plan, observer: observer, dns: dns, result: Result{Engine: kind, Began: time.Now()}}
	return r.do(ctx, e)
}

// spinBefore is how long before the beginning of a run that has one the process stays awake.
const spinBefore = 2 * time.Millisecond

// begin waits until the run begins, and returns when that is. It does not wait longer than ctx.
func (p *Plan) begin(ctx context.Context) time.Time {
	if p.Begin.IsZero() {
		return time.Now()
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(p.Begin) - spinBefore):
	}
	for time.Now().Before(p.Begin) {
		if ctx.Err() != nil {
			return time.Now()
		}
		runtime.Gosched()
	}
	return p.Begin
}

// resolve returns the address with the name resolved, and how long that took; nil = there is no
// name.
func resolve(ctx context.Context, plan *Plan) (_ string, took *histogram.Histogram, _ error) {
	if plan.Network != "tcp" {
		return plan.Address, nil, nil
	}
	host, port, err := net.SplitHostPort(plan.Address)
	if err != nil {
		return "", nil, fmt.Errorf("load: %w", err)
	}
	began := time.Now()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return "", nil, &Failed{ClassDNS, err}
	}
	if _, err := netip.ParseAddr(host); err != nil {
		record(&took, int64(time.Since(began)))
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return "", nil, fmt.Errorf("load: %w", err)
	}
	at := slices.IndexFunc(found, func(a net.IPAddr) bool { return a.IP.To4() != nil })
	return (&net.TCPAddr{IP: found[max(at, 0)].IP, Zone: found[max(at, 0)].Zone, Port: number}).String(), took, nil
}

// probe connects once, and speaks TLS if the plan says so.
func probe(ctx context.Context, plan *Plan) error {
	c, _, _, err := connect(ctx, plan, min(probeTime, plan.Timeout))
	if err != nil {
		return &Failed{classOf(err, ClassConnect), err}
	}
	return c.Close()
}

func newEngine(plan *Plan) (engine, Engine, error) {
	switch plan.Engine {
	case Portable:
		return &portable{plan: plan}, Portable, nil
	case Auto:
		if plan.TLS != nil || !haveEpoll {
			return &portable{plan: plan}, Portable, nil
		}
	}
	e, err := newEpoll(plan)
	return e, Epoll, err
}

// run is a run under way.
type run struct {
	plan     *Plan
	observer Observer
	dns      *histogram.Histogram
	result   Result
	halt     atomic.Bool
	sending  atomic.Int32 // threads
	drivers  []*driver
}

func (r *run) do(ctx context.Context, e engine) (*Result, error) {
	defer context.AfterFunc(ctx, func() { r.halt.Store(true) })()
	r.sending.Store(int32(r.plan.Threads))
	for i := range r.plan.Threads {
		d := newDriver(newLoop(r.plan, nil, r.plan.Part.First+i, r.plan.threads()), &r.halt, &r.sending)
		if r.plan.Listeners > 0 && d.listen == nil {
			return nil, fmt.Errorf("load: %s has no listeners", r.plan.Codec.Name())
		}
		r.drivers = append(r.drivers, d)
	}
	runtime.GC() // the garbage of the preparation is not collected during the measurement
	before, undo := readMachine(), func() {}
	if r.result.Engine == Epoll {
		undo = roomFor(len(r.drivers))
	}
	var (
		threads sync.WaitGroup
		errs    = make([]error, len(r.drivers))
		clock   = clock{r.plan.begin(ctx)}
	)
	r.result.Began = clock.zero
	if ctx.Err() != nil { // AfterFunc may take a moment
		r.halt.Store(true)
	}
	if w, ok := r.observer.(Watcher); ok {
		w.Watch(r.progress)
	}
	for i, d := range r.drivers {
		threads.Go(func() {
			errs[i] = e.drive(d, i, clock)
			if errs[i] != nil {
				r.halt.Store(true)
			}
			d.close()
		})
	}
	r.collect()
	threads.Wait()
	undo()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	r.conclude(clock.now())
	r.result.Machine = readMachine().since(before)
	r.result.Stopped = ctx.Err() != nil
	return &r.result, nil
}

// roomFor lets so many threads of the epoll engine run besides the runtime's own work, until
// undo. Where a thread that waits holds the only place, as in a process that is bound to one
// processor, the runtime takes it away and gives it back thousands of times a second.
func roomFor(threads int) (undo func()) {
	before := runtime.GOMAXPROCS(0)
	if before > threads {
		return func() {}
	}
	runtime.GOMAXPROCS(threads + 1)
	return func() { runtime.GOMAXPROCS(before) }
}

// collect takes the intervals of all threads as they end, until there are no more.
func (r *run) collect() {
	merge := NewMerge(r.plan, r.observer, &r.result)
	for open := true; open; merge.Next() {
		open = false
		for _, d := range r.drivers {
			if v, ok := <-d.results; ok {
				open = true
				merge.Part(v)
				d.spare <- v
			} else {
				merge.ended()
			}
		}
	}
	merge.End()
	r.result.Total.DNS = r.dns
}

// conclude counts the requests still in flight.
func (r *run) conclude(now int64) {
	var all samples
	for _, d := range r.drivers {
		u := d.unanswered(now)
		r.result.Unanswered.Count += u.Count
		r.result.Unanswered.Unsent += u.Unsent
		r.result.Unanswered.Oldest = max(r.result.Unanswered.Oldest, u.Oldest)
		all.merge(&d.samples)
		r.result.addTargets(r.plan.Targets, d.targets)
		for _, c := range d.conns {
			r.result.PerConn = append(r.result.PerConn, c.done)
		}
	}
	r.result.Samples = all.list
	r.result.Unanswered.Count += max(r.drivers[0].missing(), 0)
}
