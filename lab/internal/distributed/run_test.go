//go:build linux

package distributed

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/lab/responder"
	"paddock/load"
	"paddock/load/histogram"
	"paddock/load/http1"
)

// bench is a bus with workers, and a service.
type bench struct {
	t       *testing.T
	url     string
	service string // host:port
}

func newBench(t *testing.T, law responder.Law) *bench {
	t.Helper()
	server, err := bus.New(bus.Config{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	s, err := responder.Serve(responder.Config{Law: law})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Close() })
	return &bench{t, "nats://" + server.Addr().String(), s.Addr}
}

func (b *bench) connect(url string) *nats.Conn {
	b.t.Helper()
	nc, err := Bus{Server: url}.Connect("test")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	return nc
}

// recorder keeps what a worker measured, beside what it sends.
type recorder struct {
	mu       sync.Mutex
	due      []time.Duration
	response *histogram.Histogram
}

func (r *recorder) each(int) func(*load.Outcome) {
	return func(o *load.Outcome) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.due = append(r.due, time.Duration(o.Due))
		r.response.Record(o.Done - o.Due)
	}
}

// worker serves until the end of the test, or stop. said has its lines.
func (b *bench) worker(url string, r *recorder, shift time.Duration) (w *Worker, said chan string, stop func()) {
	b.t.Helper()
	said = make(chan string, 1000)
	w = NewWorker(b.connect(url), nil, func(line string) { said <- line })
	w.clock = newClock(shift)
	if r != nil {
		w.each = r.each
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := w.Serve(ctx); err != nil {
			b.t.Error(err)
		}
	})
	stop = func() {
		cancel()
		served.Wait()
	}
	b.t.Cleanup(stop)
	b.await(said, "waits for runs")
	return w, said, stop
}

// await returns the next line with a text.
func (b *bench) await(said chan string, text string) string {
	b.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line := <-said:
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			b.t.Fatalf("no line with %q", text)
		}
	}
}

// job asks the service with two threads.
func (b *bench) job(rate string, duration time.Duration) *Job {
	return &Job{
		Plan: load.Plan{
			Network: "tcp", Address: b.service, Conns: 40, Threads: 2, Duration: duration, Timeout: 30 * time.Second,
			Grace: 30 * time.Second, Seed: 11, Engine: load.Portable,
		},
		Rate: rate, Requests: []http1.Request{{URL: "http://" + b.service + "/{{seq}}"}},
	}
}

// run makes a run with two workers.
func (b *bench) run(ctx context.Context, j *Job, o load.Observer) (*Report, error) {
	b.t.Helper()
	var err error
	if j.Plan.Codec, err = j.Codec(j.ReadFile); err != nil {
		b.t.Fatal(err)
	}
	if err := j.Plan.Check(); err != nil {
		b.t.Fatal(err)
	}
	return Run(ctx, b.connect(b.url), Config{Job: j, Workers: 2, Continue: true}, o)
}

// seconds counts the intervals of a run, and tells when the first is over.
type seconds struct {
	first chan struct{}
	once  sync.Once
	done  int64
}

func newSeconds() *seconds { return &seconds{first: make(chan struct{})} }

func (s *seconds) Interval(v *load.Interval) {
	s.done += v.Done
	s.once.Do(func() { close(s.first) })
}

// Two workers send what one process sends: each arrival of the schedule once, at its time. The
// merged times are the recorded ones, each of them. The clock of one of them is an hour
// ahead. The service is used to 80 %.
func TestTwoWorkersAreOneRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, &responder.Queue{PerSecond: 500})
	recorded := [2]*recorder{{response: histogram.New()}, {response: histogram.New()}}
	b.worker(b.url, recorded[0], 0)
	b.worker(b.url, recorded[1], time.Hour)
	const rate = "poisson 400/s for 3s"
	j, observed := b.job(rate, 3*time.Second), newSeconds()
	r, err := b.run(t.Context(), j, observed)
	if err != nil {
		t.Fatal(err)
	}

	arrivals, err := load.ParseArrivals(rate, j.Plan.Seed)
	if err != nil {
		t.Fatal(err)
	}
	var want []time.Duration
	for stripe := arrivals.Stripe(0, 1); ; {
		at, ok := stripe.Next()
		if !ok {
			break
		}
		want = append(want, at)
	}
	due, merged := slices.Concat(recorded[0].due, recorded[1].due), recorded[0].response
	slices.Sort(due)
	if len(recorded[0].due) == 0 || len(recorded[1].due) == 0 || !slices.Equal(due, want) {
		t.Errorf("the workers sent %d and %d requests, which are not the %d of the schedule", len(recorded[0].due), len(recorded[1].due), len(want))
	}
	merged.Add(recorded[1].response)
	total := &r.Result.Total
	if !total.Response.Equal(merged) || total.Sent != int64(len(want)) || total.Done != total.Sent || observed.done != total.Done {
		t.Errorf("%d sent, %d done, %d in seconds, of %d: p50 %v, p99 %v, max %v; recorded p50 %v, p99 %v, max %v", total.Sent, total.Done, observed.done, len(want),
			total.Response.Quantile(0.5), total.Response.Quantile(0.99), total.Response.Max(), merged.Quantile(0.5), merged.Quantile(0.99), merged.Max())
	}
	ahead := 0
	for _, w := range r.Workers {
		if w.State != stateWhole || w.Coverage != 1 || w.Threads != 1 || w.OffsetError <= 0 || w.Skew < 0 {
			t.Errorf("%+v", w)
		}
		if off := time.Duration(w.Offset); off > 59*time.Minute && off < 61*time.Minute {
			ahead++
		} else if off.Abs() > time.Minute {
			t.Errorf("a clock is said to be %v ahead", off)
		}
	}
	if ahead != 1 || r.Missing != "" || r.Shared || len(r.Result.PerConn) != 40 {
		t.Errorf("%d clocks ahead; %+v", ahead, r)
	}
	one, err := load.Run(t.Context(), withArrivals(j.Plan, arrivals), nil)
	if err != nil {
		t.Fatal(err)
	}
	if one.Total.Sent != total.Sent || one.Total.Done != total.Done {
		t.Errorf("one process sent %d requests, and two workers %d", one.Total.Sent, total.Sent)
	}
}

func withArrivals(p load.Plan, a load.Arrivals) load.Plan {
	p.Arrivals = a
	return p
}

// A closed run by count makes as many requests as it is told, and a worker serves one run after
// another. Each of two resolves the service's name, once for a run.
func TestCountOfAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(time.Millisecond))
	b.worker(b.url, nil, 0)
	b.worker(b.url, nil, -time.Minute)
	for range 2 {
		j := b.job("", 0)
		j.Plan.Count, j.Plan.Conns, j.Plan.Address = 1001, 3, strings.Replace(b.service, "127.0.0.1", "localhost", 1)
		r, err := b.run(t.Context(), j, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v := &r.Result.Total; v.Sent != 1001 || v.Failed[load.ClassOK] != 1001 || v.Response.Count() != 1001 || v.DNS == nil || v.DNS.Count() != 2 || r.Missing != "" || len(r.Result.PerConn) != 3 {
			t.Errorf("%d sent, %d good; %+v", v.Sent, v.Failed[load.ClassOK], r)
		}
	}
}

// Workers speak HTTP/2 over TLS, and tell how long the handshakes took.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(0))
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	b.service = secure.Listener.Addr().String()
	b.worker(b.url, nil, 0)
	b.worker(b.url, nil, 0)
	j := b.job("", 0)
	j.Plan.Count, j.Plan.Conns, j.Plan.TLS = 101, 4, &tls.Config{} //nolint:gosec // the workers make their own
	j.ServerName, j.Insecure, j.HTTP2, j.Requests[0].URL = "localhost", true, true, secure.URL
	r, err := b.run(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &r.Result.Total
	if v.Failed[load.ClassOK] != 101 || v.DNS != nil || v.TLS == nil || v.TCP == nil || int64(v.TLS.Count()) != v.Connects || int64(v.TCP.Count()) != v.Connects || r.Missing != "" {
		t.Errorf("%v, %d connections, TLS %v; %+v", v.Failed, v.Connects, v.TLS, r)
	}
}

// The end of the controller's context stops the workers: they wait for answers, longer than several
// beats, and tell what they have.
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(5*time.Second))
	_, said, _ := b.worker(b.url, nil, 0)
	b.worker(b.url, nil, 0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	observed := newSeconds()
	go func() {
		<-observed.first
		stop()
	}()
	j := b.job("50/s", time.Hour)
	j.Plan.Conns = 100
	r, err := b.run(ctx, j, observed)
	if err != nil {
		t.Fatal(err)
	}
	if total := &r.Result.Total; !r.Result.Stopped || r.Missing != "" || total.Done != total.Sent || total.Done == 0 {
		t.Errorf("%d of %d; %+v", total.Done, total.Sent, r)
	}
	b.await(said, "is over")
}

// A worker that is stopped on its machine is named, and the run goes on without it.
func TestWorkerLeaves(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(time.Millisecond))
	_, _, leave := b.worker(b.url, nil, 0)
	b.worker(b.url, nil, 0)
	observed := newSeconds()
	go func() {
		<-observed.first
		leave()
	}()
	r, err := b.run(t.Context(), b.job("200/s", 6*time.Second), observed)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Missing, "it was stopped on its machine") || !covered(r) {
		t.Errorf("%+v", r)
	}
	if v := load.Judge(&load.Plan{}, r.Result); v.Level != load.Red {
		t.Error(v.String())
	}
}

// A worker that is cut off from the bus is given up, and when it comes back it is free again.
func TestPartition(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(time.Millisecond))
	cut := newGate(t, strings.TrimPrefix(b.url, "nats://"))
	_, said, _ := b.worker("nats://"+cut.Addr().String(), nil, 0)
	b.worker(b.url, nil, 0)
	observed := newSeconds()
	go func() {
		<-observed.first
		cut.close()
	}()
	r, err := b.run(t.Context(), b.job("200/s", 8*time.Second), observed)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Missing, "it gave no answer to 3 beats") || !covered(r) {
		t.Errorf("%+v", r)
	}
	if target := r.Result.Total.Target; target < 1500 || target > 1600 { // the last second ends with its last answer
		t.Errorf("target %v", r.Result.Total.Target)
	}
	cut.open()
	b.await(said, "is over")
}

// covered reports whether one of two workers was there for a part of the run.
func covered(r *Report) bool {
	whole, part := 0, 0
	for _, w := range r.Workers {
		if w.State == stateWhole && w.Coverage == 1 {
			whole++
		} else if w.Coverage > 0 && w.Coverage < 1 {
			part++
		}
	}
	return whole == 1 && part == 1
}

// gate is a way to an address that can be closed and opened.
type gate struct {
	net.Listener
	mu   sync.Mutex
	pass *sync.Cond
	shut bool
}

func newGate(t *testing.T, to string) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l}
	g.pass = sync.NewCond(&g.mu)
	var tasks sync.WaitGroup
	copyAll := func(to, from net.Conn) {
		defer to.Close()
		buffer := make([]byte, 4096)
		for {
			n, err := from.Read(buffer)
			g.mu.Lock()
			for g.shut {
				g.pass.Wait()
			}
			g.mu.Unlock()
			if err != nil {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	tasks.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			other, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			tasks.Go(func() { copyAll(other, from) })
			tasks.Go(func() { copyAll(from, other) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		g.open()
		tasks.Wait()
	})
	return g
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.pass.Broadcast()
}

func (g *gate) close() { g.set(true) }
func (g *gate) open()  { g.set(false) }

// A worker tells a second controller that it is busy, and a target that it may not reach is
// refused.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(time.Millisecond))
	_, said, _ := b.worker(b.url, nil, 0)
	_, _, _ = b.worker(b.url, nil, 0)
	running, end := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := b.run(running, b.job("200/s", time.Hour), nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	defer first.Wait()
	defer end()
	b.await(said, "a run of")

	refused := func(want string, change func(*Job)) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			b.await(said, want)
			b.await(said, want) // the controller has the first answer
			b.await(said, want)
			cancel()
		}()
		j := b.job("200/s", time.Second)
		change(j)
		if _, err := b.run(ctx, j, nil); err == nil || !strings.Contains(err.Error(), "0 of 2 workers have joined") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		cancel()
	}
	refused("it is busy with another run", func(*Job) {})
	end()
	first.Wait()
	refused("the target 10.1.2.3:80 is not in --allow", func(j *Job) { j.Plan.Address = "10.1.2.3:80" })
}

// A worker stops when its controller is gone, and serves the next one.
func TestControllerLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.Delay(time.Millisecond))
	_, said, _ := b.worker(b.url, nil, 0)
	b.worker(b.url, nil, 0)
	nc := b.connect(b.url)
	observed := newSeconds()
	go func() {
		<-observed.first
		nc.Close()
	}()
	j := b.job("200/s", time.Hour)
	if _, err := Run(t.Context(), nc, Config{Job: j, Workers: 2}, observed); err != nil && !strings.Contains(err.Error(), "no answer") {
		t.Error(err)
	}
	b.await(said, "its controller has not been heard")
	b.await(said, "is over")
	r, err := b.run(t.Context(), b.job("200/s", time.Second), nil)
	if err != nil || r.Missing != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A report says when the control messages went through the service under test.
func TestSharedBus(t *testing.T) {
	t.Parallel()
	b := newBench(t, responder.AtOnce{})
	b.worker(b.url, nil, 0)
	b.worker(b.url, nil, 0)
	b.service = strings.TrimPrefix(b.url, "nats://")
	r, err := b.run(t.Context(), b.job("20/s", time.Second), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Shared || r.Missing != "" {
		t.Errorf("%+v", r)
	}
}
