package perf

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"paddock/lab/internal/numbers"
)

// runTimeout ends a test whose run hangs.
const runTimeout = 30 * time.Second

// serveForTest runs a perf server on a port of its own and returns where.
func serveForTest(t *testing.T, o ServerOptions) Target {
	t.Helper()
	target, stop := startServer(t, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return target
}

// startServer is serveForTest with the way to stop it, and perhaps a place.
func startServer(t *testing.T, o ServerOptions, at ...string) (target Target, stop func(context.Context) error) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", append(at, "127.0.0.1:0")[0])
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return Target{Network: "tcp", Addr: l.Addr().String(), Token: o.Token}, func(ctx context.Context) error {
		return errors.Join(s.Shutdown(ctx), <-served)
	}
}

// measure makes one run.
func measure(t *testing.T, target Target, o Options, prepare func(*Run)) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	run, closeAll, err := Open(ctx, target, o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	if prepare != nil {
		prepare(run)
	}
	report, err := run.Measure(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each run over real sockets: all of it is done, and both ends agree.
func TestRuns(t *testing.T) {
	target := serveForTest(t, ServerOptions{})
	base := Options{Count: 100, Routines: 3, Conns: 2, Batch: 7, Payload: 100, Stream: 50, Sample: 1}
	for _, do := range allDo {
		t.Run(string(do), func(t *testing.T) {
			o := base
			o.Do = do
			r := measure(t, target, o, nil)
			if err := r.Err(); err != nil {
				t.Fatalf("%v\n%+v", err, r)
			}
			calls := r.Ops
			if do == StreamTx || do == StreamRx {
				calls /= int64(o.Stream)
			}
			if r.Ops != o.Total() || r.Latency.N != calls || r.Throughput <= 0 || r.Elapsed <= 0 || r.Client.CPU < 0 {
				t.Errorf("%+v", r)
			}
			if r.Client.BytesPerOp <= 0 || r.Stats[statBytes] == 0 {
				t.Errorf("no bytes were counted: %+v", r.Stats)
			}
			if do == Post && (r.Delivery.Sent != 200 || r.Delivery.Received != 200) {
				t.Errorf("%+v", r.Delivery)
			}
			if do == Verify {
				sum := r.Verified.Posts.Done + r.Verified.Acked.Done + r.Verified.Requests.Done + r.Verified.Streams.Done
				if sum != 200 || r.Verified.Acked.Done == 0 {
					t.Errorf("%+v", r.Verified)
				}
			}
		})
	}
}

// The extreme sizes of bodies.
func TestRunPayloads(t *testing.T) {
	target := serveForTest(t, ServerOptions{})
	for _, do := range allDo {
		for _, payload := range []int{0, 1, 60_000} {
			o := Options{Do: do, Count: 20, Routines: 2, Conns: 1, Batch: 3, Payload: payload, Stream: 3, Sample: 2}
			if o.Check() != nil {
				continue
			}
			r := measure(t, target, o, nil)
			if err := r.Err(); err != nil || r.Ops != o.Total() {
				t.Errorf("%s of %d bytes: %v, %d done", do, payload, err, r.Ops)
			}
		}
	}
}

func TestRunSecured(t *testing.T) {
	cert, err := SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	target := serveForTest(t, ServerOptions{Token: "open sesame", TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	if target.TLS, err = ClientTLS(Fingerprint(cert)); err != nil {
		t.Fatal(err)
	}
	o := Options{Do: Verify, Count: 100, Routines: 2, Conns: 1, Batch: 1, Payload: 64, Stream: 3, Sample: 1}
	if err := measure(t, target, o, nil).Err(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Target){
		"a wrong token": func(x *Target) { x.Token = "open barley" },
		"no token":      func(x *Target) { x.Token = "" },
		"another pin":   func(x *Target) { x.TLS, _ = ClientTLS(Fingerprint(tls.Certificate{Certificate: [][]byte{nil}})) },
		"no pin":        func(x *Target) { x.TLS, _ = ClientTLS("") },
	} {
		other := target
		change(&other)
		if _, _, err := Open(t.Context(), other, o); err == nil {
			t.Errorf("let in with %s", name)
		}
	}
	if _, err := ClientTLS("abc"); !errors.Is(err, ErrOptions) {
		t.Errorf("a pin of three digits: %v", err)
	}
}

// A run that is interrupted reports its work so far, and the interruption.
func TestRunInterrupted(t *testing.T) {
	target := serveForTest(t, ServerOptions{})
	for _, do := range allDo {
		o := Options{Do: do, Count: 1 << 30, Routines: 2, Conns: 1, Batch: 10, Payload: 64, Stream: 1000, Sample: 1}
		ctx, cancel := context.WithCancel(t.Context())
		run, closeAll, err := Open(ctx, target, o)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer cancel()
			for tick := time.NewTicker(time.Millisecond); run.Done() < 300; {
				<-tick.C
			}
		}()
		r, err := run.Measure(ctx)
		closeAll()
		if err != nil {
			t.Fatal(err)
		}
		if !r.Interrupted || r.Failed != 0 || r.Ops < 300 || r.Ops >= o.Total() {
			t.Errorf("%s: %+v", do, r)
		}
		if d := r.Delivery; d != nil && d.Received < d.Sent {
			t.Errorf("%+v", d)
		}
		if v := r.Verified; v != nil && v.fault() != "" {
			t.Errorf("%+v", v)
		}
	}
}

func TestRunWithFloor(t *testing.T) {
	target := serveForTest(t, ServerOptions{})
	o := Options{Do: Request, Count: 10, Routines: 1, Conns: 1, Batch: 1, Payload: 64, Stream: 1, Sample: 1}
	r := measure(t, target, o, func(run *Run) { run.WithFloor = true })
	if err := r.Err(); err != nil || r.Floor == nil || len(r.Floor.Echo) != 2 || r.Floor.bulk() <= 0 {
		t.Errorf("%v, %+v", err, r.Floor)
	}
}

// Both ends keep the same records of acknowledged posts, and a server that is started again knows
// them.
func TestRunKeepsAcknowledged(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "client"), filepath.Join(dir, "server")
	o := Options{Do: Verify, Count: 300, Routines: 3, Conns: 2, Batch: 1, Payload: 40, Stream: 2, Sample: 1}
	t.Run("run", func(t *testing.T) { // with its server
		target := serveForTest(t, ServerOptions{Journal: theirs})
		var closeFile func() error
		r := measure(t, target, o, func(run *Run) {
			var err error
			if closeFile, err = run.KeepAcknowledged(ours); err != nil {
				t.Fatal(err)
			}
		})
		if err := errors.Join(r.Err(), closeFile()); err != nil {
			t.Fatal(err)
		}
	})
	had := map[Acked]int{}
	for _, a := range read(t, theirs) {
		had[a]++
	}
	kept := read(t, ours)
	if len(kept) == 0 || len(had) != len(kept) {
		t.Fatalf("%d kept here, %d there", len(kept), len(had))
	}
	for _, a := range kept {
		if had[a] != 1 {
			t.Errorf("%v is there %d times", a, had[a])
		}
	}
	s, err := NewServer(ServerOptions{Journal: theirs, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown(t.Context())
	last := map[Lane]uint64{}
	for _, a := range kept {
		last[a.Lane] = max(last[a.Lane], a.Number)
		lane := s.perf.ledger.report(laneQuery{a.body.run, classAcked, a.body.lane})
		if n, _ := numbers.Missing([]numbers.Span{{First: a.body.seq, Last: a.body.seq}}, lane.Spans, 0); n != 0 || lane.Duplicates != 0 {
			t.Errorf("%v was forgotten: %+v", a, lane)
		}
	}
	for at, n := range last {
		if s.perf.known[at] != n {
			t.Errorf("%v: knows %d, not %d", at, s.perf.known[at], n)
		}
	}
}
