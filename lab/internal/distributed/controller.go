package distributed

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/load"
)

// Config describes a run of several workers.
type Config struct {
	Job     *Job // its plan has the threads of all workers
	Workers int
	// Continue goes on without a worker that is lost, instead of ending the run.
	Continue bool
}

// Report is what became of a run.
type Report struct {
	Result  *load.Result
	Workers []runfile.Worker
	Missing string // which part of the run is not in Result, and why; "" = all is
	Shared  bool   // the bus is the service under test
}

// controller is a run under way.
type controller struct {
	Config
	nc      *nats.Conn
	prefix  string // of its subjects
	clock   func() int64
	in      chan *nats.Msg
	members []*member
	merger  *merger
}

// Run makes a run with workers that wait for it at the bus. When ctx ends, the workers stop
// sending, and Run returns the result so far. observer is called with each second of all workers
// together, and may be nil. An error says why nothing was measured.
func Run(ctx context.Context, nc *nats.Conn, config Config, observer load.Observer) (*Report, error) {
	packed, err := config.Job.pack()
	if err != nil {
		return nil, err
	}
	c := &controller{
		Config: config, nc: nc, prefix: prefix + strings.ToLower(rand.Text()) + ".", clock: newClock(0), in: make(chan *nats.Msg, 1024),
	}
	for _, what := range []string{"join", "clock", "stat", "fin"} {
		sub, err := nc.ChanSubscribe(c.prefix+what, c.in)
		if err != nil {
			return nil, fmt.Errorf("the bus: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }() // an error if the connection has ended
	}
	began, err := c.start(ctx, packed)
	if err != nil {
		c.stop("the run does not take place")
		return nil, err
	}
	c.merger = newMerger(&c.Job.Plan, c.members, observer)
	if w, ok := observer.(load.Watcher); ok {
		w.Watch(func() load.Progress {
			p := *c.merger.progress.Load()
			p.At = max(time.Since(began), 0)
			return p
		})
	}
	c.follow(ctx)
	result := &c.merger.result
	result.Began, result.Stopped = began, ctx.Err() != nil
	return c.report()
}

// start gathers the workers, brings them the job, and compares the clocks before it says when the
// run begins.
func (c *controller) start(ctx context.Context, packed []byte) (began time.Time, err error) {
	if err := c.gather(ctx, packed); err != nil {
		return began, err
	}
	threads := c.Job.Plan.Threads
	divide(c.members, threads)
	err = c.all(func(m *member) error {
		for piece := range slices.Chunk(packed, int(min(maxPiece, c.nc.MaxPayload()/2))) {
			if _, err := c.request(m, "plan", piece, replyTime); err != nil {
				return err
			}
		}
		_, err := c.request(m, "ready", encode(assignment{m.first, m.threads, threads}), readyTime)
		return err
	})
	if err == nil {
		err = c.all(c.compare)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return began, err
	}
	began = time.Now().Add(lead)
	begin := c.clock() + int64(lead)
	return began, c.all(func(m *member) error {
		_, err := c.request(m, "go", encode(start{begin, m.clock.offset}), replyTime)
		return err
	})
}

// gather offers the run until enough workers have joined.
func (c *controller) gather(ctx context.Context, packed []byte) error {
	sum := sha256.Sum256(packed)
	data := encode(offer{Protocol: protocol, Target: c.Job.Plan.Address, Size: len(packed), SHA256: sum[:]})
	refusals := map[string]string{} // by worker
	limit, again := time.After(joinTime), time.NewTicker(offerTime)
	defer again.Stop()
	err := c.nc.PublishRequest(c.prefix+"plan", c.prefix+"join", data)
	for err == nil && len(c.members) < c.Workers {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-limit:
			err = fmt.Errorf("no more came within %v", joinTime)
		case <-again.C:
			err = c.nc.PublishRequest(c.prefix+"plan", c.prefix+"join", data)
		case m := <-c.in:
			c.join(m, refusals)
		}
	}
	if err == nil {
		return nil
	}
	var text []string
	for name, why := range refusals {
		text = append(text, fmt.Sprintf("; %s: %s", name, why))
	}
	return fmt.Errorf("%d of %d workers have joined: %w%s", len(c.members), c.Workers, err, strings.Join(text, ""))
}

// join takes the answer of a worker to an offer. A worker that is not needed is released.
func (c *controller) join(m *nats.Msg, refusals map[string]string) {
	var a answer
	switch err := json.Unmarshal(m.Data, &a); {
	case err != nil || slices.ContainsFunc(c.members, func(m *member) bool { return m.ID == a.ID }):
	case len(c.members) == c.Workers:
		_ = c.nc.Publish(c.prefix+"stop."+a.ID, []byte("there are enough workers"))
	case a.Refusal == "":
		c.members = append(c.members, &member{answer: a})
	case len(refusals) < MaxWorkers:
		refusals[a.Name] = a.Refusal
	}
}

// divide gives each member its threads: one, and the others by processors.
func divide(members []*member, threads int) {
	for i := range threads {
		m := members[i%len(members)]
		if i >= len(members) {
			m = slices.MinFunc(members, func(a, b *member) int { return cmp.Compare(a.threads*max(b.Cores, 1), b.threads*max(a.Cores, 1)) })
		}
		m.threads++
	}
	for i, m := range members[1:] {
		m.first = members[i].first + members[i].threads
	}
}

// all does something for each member at once.
func (c *controller) all(do func(*member) error) error {
	var tasks sync.WaitGroup
	errs := make([]error, len(c.members))
	for i, m := range c.members {
		tasks.Go(func() { errs[i] = do(m) })
	}
	tasks.Wait()
	return errors.Join(errs...)
}

// request sends a message to a member, and returns its answer.
func (c *controller) request(m *member, what string, data []byte, wait time.Duration) (r reply, err error) {
	msg, err := c.nc.Request(c.prefix+what+"."+m.ID, data, wait)
	if err == nil {
		err = json.Unmarshal(msg.Data, &r)
	}
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil {
		err = fmt.Errorf("worker %s: %s: %w", m.Name, what, err)
	}
	return r, err
}

// compare reads the clock of a member several times. The reading that took least is off by half of
// that at most.
func (c *controller) compare(m *member) error {
	for i := range clocks {
		r, err := c.request(m, "beat", encode(reply{Asked: c.clock()}), replyTime)
		if err != nil {
			return err
		}
		if now := c.reading(r); i == 0 || now.trip < m.clock.trip {
			m.clock, m.last = now, now
		}
	}
	return nil
}

func (c *controller) reading(r reply) reading {
	trip := c.clock() - r.Asked
	return reading{r.Clock - r.Asked - trip/2, trip}
}

// stop ends the sending of all members, or releases them.
func (c *controller) stop(why string) {
	for _, m := range c.members {
		_ = c.nc.Publish(c.prefix+"stop."+m.ID, []byte(why)) // without it, the missing beats stop the worker
	}
	_ = c.nc.Flush()
}

// follow takes what the members send until all have ended.
func (c *controller) follow(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	interrupted, stopped := ctx.Done(), false
	for !c.merger.finished() {
		select {
		case m := <-c.in:
			c.take(m, stopped)
		case <-tick.C:
			c.beat()
		case <-interrupted:
			interrupted, stopped = nil, true
			c.stop("it is interrupted")
		}
		if !c.Continue && !stopped && slices.ContainsFunc(c.members, func(m *member) bool { return m.lost != "" }) {
			stopped = true
			c.stop("a worker is lost")
		}
	}
}

// beat asks each member for its clock, and gives it up after several beats without an answer.
func (c *controller) beat() {
	for _, m := range c.members {
		if m.lost != "" || m.end != nil {
			continue
		}
		if m.missed++; m.missed > maxMissed {
			c.merger.lose(m, fmt.Sprintf("it gave no answer to %d beats", maxMissed))
		}
		_ = c.nc.PublishRequest(c.prefix+"beat."+m.ID, c.prefix+"clock", encode(reply{Asked: c.clock()})) // it counts as missed
	}
	c.merger.tick()
}

// take takes a message of a worker. One that cannot be read is missing in the sums.
func (c *controller) take(msg *nats.Msg, stopped bool) {
	switch strings.TrimPrefix(msg.Subject, c.prefix) {
	case "join":
		c.join(msg, nil)
	case "clock":
		var r reply
		if json.Unmarshal(msg.Data, &r) == nil && r.Error == "" {
			if m := c.merger.member(r.ID); m != nil {
				m.missed, m.last = 0, c.reading(r)
			}
		}
	case "stat":
		f := &frame{}
		if json.Unmarshal(msg.Data, f) == nil {
			c.merger.frame(f)
		}
	case "fin":
		end := &final{}
		if json.Unmarshal(msg.Data, end) == nil {
			c.merger.final(end, stopped)
		}
		_ = msg.Respond(nil) // else it comes again
	}
}

// report completes the result.
func (c *controller) report() (*Report, error) {
	r := &Report{Result: &c.merger.result}
	all, coverage := c.merger.finish()
	var missing []string
	for _, w := range all {
		if w.State != stateWhole {
			missing = append(missing, fmt.Sprintf("worker %s was %s: %s", w.Name, w.State, w.Reason))
		}
	}
	if r.Workers = all; len(missing) > 0 {
		r.Missing = fmt.Sprintf("coverage=%s: %s", figure.Percent(coverage), strings.Join(missing, "; "))
	}
	if r.Result.Total.Length == 0 && r.Missing != "" {
		return nil, errors.New(r.Missing)
	}
	target, err := net.ResolveTCPAddr("tcp", c.Job.Plan.Address)
	r.Shared = err == nil && target.String() == c.nc.ConnectedAddr()
	return r, nil
}
