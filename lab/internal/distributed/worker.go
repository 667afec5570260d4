package distributed

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/load"
	"paddock/load/histogram"
)

// Worker makes its part of the load of runs, one run at a time.
type Worker struct {
	allow []string // HOST:PORT of targets, besides those on loopback
	say   func(line string)
	nc    *nats.Conn
	id    string
	name  string // host/process
	clock func() int64
	each  func(int) func(*load.Outcome) // of the plan, for tests

	duty *duty       // nil = it waits for a run
	done chan func() // ends the task, in the goroutine of Serve
	task sync.WaitGroup
}

// duty is a run that the worker takes part in.
type duty struct {
	offer
	run    string
	heard  time.Time // the last message of its controller
	packed []byte    // the job so far
	plan   *load.Plan
	busy   bool               // a task is at work on it: the preparation, or the load
	left   bool               // it ends when that does
	stop   context.CancelFunc // nil = the load has not begun
}

// NewWorker makes a worker at a bus. Serve lets it work, once; say gets a line for what happens.
func NewWorker(nc *nats.Conn, allow []string, say func(line string)) *Worker {
	host, _ := os.Hostname() // a name is for people
	return &Worker{
		allow: allow, say: say, nc: nc, id: rand.Text(), name: fmt.Sprintf("%s/%d", host, os.Getpid()),
		clock: newClock(0), done: make(chan func(), 1),
	}
}

// Serve takes part in runs until ctx ends. A run that is under way then is stopped, waits for
// answers, and is told to its controller.
func (w *Worker) Serve(ctx context.Context) error {
	in := make(chan *nats.Msg, 256)
	for _, subject := range []string{prefix + "*.plan", prefix + "*.*." + w.id} {
		sub, err := w.nc.ChanSubscribe(subject, in)
		if err != nil {
			return fmt.Errorf("the bus: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }() // an error if the connection has ended
	}
	if err := w.nc.FlushTimeout(replyTime); err != nil {
		return fmt.Errorf("the bus: %w", err)
	}
	defer w.task.Wait()
	w.say("worker " + w.name + " waits for runs at " + w.nc.ConnectedAddr())
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			w.leave("this worker ends")
			return nil
		case m := <-in:
			w.handle(m)
		case f := <-w.done:
			f()
		case <-tick.C:
			d := w.duty
			if d != nil && (d.stop == nil && time.Since(d.heard) > setupPatience || d.stop != nil && time.Since(d.heard) > patience) {
				w.leave("its controller has not been heard for too long")
			}
			if w.nc.IsClosed() {
				w.leave("the connection to the bus has ended")
				return errors.New("the connection to the bus has ended, or its server asks for no credentials any more")
			}
		}
	}
}

// leave ends the part in a run. Load that has begun ends by itself from then on.
func (w *Worker) leave(why string) {
	d := w.duty
	if d == nil || d.left {
		return
	}
	w.say("the run ends here: " + why)
	if d.left = d.busy; !d.busy {
		w.duty = nil
	}
	if d.stop != nil {
		d.stop()
	}
}

// start begins the task of a duty: work, and then end in the goroutine of Serve.
func (w *Worker) start(d *duty, work, end func()) {
	d.busy = true
	w.task.Go(func() {
		work()
		w.done <- func() {
			d.busy = false
			if end(); d.left {
				w.duty = nil
			}
		}
	})
}

// handle answers a message.
func (w *Worker) handle(m *nats.Msg) {
	parts := strings.Split(strings.TrimPrefix(m.Subject, prefix), ".") // run, message, id
	if len(parts) == 2 {
		w.join(parts[0], m)
		return
	}
	d := w.duty
	if d == nil || d.run != parts[0] {
		w.reply(m, fmt.Errorf("worker %s is not in this run", w.name))
		return
	}
	d.heard = time.Now()
	switch what := parts[1]; {
	case what == "plan" && !d.busy && d.plan == nil && len(d.packed)+len(m.Data) <= d.Size:
		d.packed = append(d.packed, m.Data...)
		w.reply(m, nil)
	case what == "ready" && !d.busy && d.plan == nil:
		var err error
		w.start(d, func() { d.plan, err = d.prepare(m.Data, w.allow) }, func() {
			d.packed = nil
			w.reply(m, err)
		})
	case what == "beat":
		w.reply(m, nil)
	case what == "go" && !d.busy && d.plan != nil:
		w.reply(m, w.begin(d, m.Data))
	case what == "stop":
		w.leave(string(m.Data))
	default:
		w.reply(m, fmt.Errorf("the worker does not expect %s, of %d bytes, in the state of the run", what, len(m.Data)))
	}
}

// reply answers a message. Without the answer the controller gives the worker up.
func (w *Worker) reply(m *nats.Msg, err error) {
	var r reply
	_ = json.Unmarshal(m.Data, &r) // of a beat
	r.ID, r.Name, r.Cores, r.Clock = w.id, w.name, runtime.GOMAXPROCS(0), w.clock()
	if err != nil {
		r.Error = err.Error()
	}
	_ = m.Respond(encode(r))
}

// join answers an offer, which comes again until there are enough workers.
func (w *Worker) join(run string, m *nats.Msg) {
	var o offer
	err := json.Unmarshal(m.Data, &o)
	switch {
	case err != nil:
	case o.Protocol != protocol:
		err = fmt.Errorf("the controller has protocol %d, and the worker %d: use one version of the program", o.Protocol, protocol)
	case o.Size < 0 || o.Size > maxJob:
		err = fmt.Errorf("a job of %d bytes, of %d at most", o.Size, maxJob)
	case w.duty != nil && w.duty.run != run:
		err = errors.New("it is busy with another run")
	default:
		err = allowed(o.Target, w.allow)
	}
	switch {
	case err != nil:
		w.say("a run is refused: " + err.Error())
	case w.duty == nil:
		w.duty = &duty{offer: o, run: run, heard: time.Now()}
		w.say("a run of " + o.Target)
	default:
		w.duty.heard = time.Now()
	}
	w.reply(m, err)
}

// prepare makes the plan of the worker's part.
func (d *duty) prepare(data []byte, allow []string) (*load.Plan, error) {
	var a assignment
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(d.packed); !bytes.Equal(sum[:], d.SHA256) {
		return nil, errors.New("the job did not arrive as it was sent: its SHA-256 is another")
	}
	j, err := unpack(d.packed)
	if err != nil {
		return nil, err
	}
	return j.part(a, allow)
}

// begin starts the load.
func (w *Worker) begin(d *duty, data []byte) error {
	var at start
	err := json.Unmarshal(data, &at)
	wait := time.Duration(at.Begin + at.Offset - w.clock())
	switch {
	case err != nil:
		return err
	case wait.Abs() > patience:
		return fmt.Errorf("the run begins in %v by the worker's clock: the clocks were not compared", wait)
	}
	d.plan.Begin, d.plan.Each = time.Now().Add(wait), w.each
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	var told string
	w.start(d, func() { told = w.load(ctx, d) }, func() {
		stop()
		d.left = true
		w.say(told)
	})
	return nil
}

// load makes the load, and tells the controller its result.
func (w *Worker) load(ctx context.Context, d *duty) string {
	t := &teller{nc: w.nc, subject: prefix + d.run + ".stat", begin: d.plan.Begin, end: final{ID: w.id}}
	result, err := load.Run(ctx, *d.plan, t)
	end := &t.end
	if err != nil {
		end.Error = err.Error()
	} else {
		end.Verdict, end.Result, end.DNS = load.Judge(d.plan, result), *result, t.pack(result.Total.DNS)
		end.Result.Total = load.Interval{}
	}
	data := encode(end)
	if int64(len(data)) > w.nc.MaxPayload() {
		end.Result.PerConn = nil // the report has no fairness then
		data = encode(end)
	}
	for range 3 {
		if _, err = w.nc.Request(prefix+d.run+".fin", data, replyTime); err == nil {
			return "the run is over"
		}
	}
	return "the run is over, and its controller did not take the result: " + err.Error()
}

// teller sends each interval of a worker's part to the controller.
type teller struct {
	nc      *nats.Conn
	subject string
	begin   time.Time
	zip     histogram.Encoder
	end     final // the sums so far
}

// Watch notes when the run begins.
func (t *teller) Watch(func() load.Progress) { t.end.Skew = time.Since(t.begin) }

// Interval sends an interval. If the bus cannot take it, the sums say that it is missing.
func (t *teller) Interval(v *load.Interval) {
	_ = t.nc.Publish(t.subject, encode(t.frame(v)))
}

// pack returns what was recorded; h is nil if nothing was measured.
func (t *teller) pack(h *histogram.Histogram) packed {
	if h == nil {
		return packed{}
	}
	return packed{bytes.Clone(t.zip.Encode(h)), int64(h.Min()), int64(h.Max())}
}

// frame packs the next interval, and adds it to the sums.
func (t *teller) frame(v *load.Interval) *frame {
	f := &frame{ID: t.end.ID, Seq: t.end.Frames, Counts: *v}
	for _, h := range f.Counts.Histograms() {
		f.Times = append(f.Times, t.pack(*h))
		*h = nil
	}
	t.end.Frames++
	t.end.Sent += v.Sent
	t.end.Done += v.Done
	t.end.Check += checksum(v)
	return f
}
