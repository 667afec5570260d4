package perf

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/wire"
)

// faulty is a connection that does wrong with one call of a kind.
type faulty struct {
	*wire.Conn
	kind  string
	at    int // which call of the kind, from 1
	fault func(f *faulty, ctx context.Context, body []byte) error
	seen  int
}

// turn says whether this call is the one.
func (f *faulty) turn(kind string) bool {
	if kind == f.kind {
		f.seen++
	}
	return kind == f.kind && f.seen == f.at
}

func (f *faulty) Post(ctx context.Context, kind string, body []byte) error {
	if f.turn(kind) {
		return f.fault(f, ctx, body)
	}
	return f.Conn.Post(ctx, kind, body)
}

func (f *faulty) PostAck(ctx context.Context, kind string, body []byte) (uint64, error) {
	if f.turn(kind) {
		if err := f.fault(f, ctx, body); err != nil {
			return 0, err
		}
		return f.Acked(), nil
	}
	return f.Conn.PostAck(ctx, kind, body)
}

func (f *faulty) CallAppend(ctx context.Context, dst []byte, kind string, body []byte) ([]byte, error) {
	if f.turn(kind) {
		err := f.fault(f, ctx, body)
		return append(dst, body...), err
	}
	return f.Conn.CallAppend(ctx, dst, kind, body)
}

func lose(*faulty, context.Context, []byte) error { return nil }

func double(f *faulty, ctx context.Context, body []byte) error {
	return errors.Join(f.Conn.Post(ctx, f.kind, body), f.Conn.Post(ctx, f.kind, body))
}

func spoil(f *faulty, ctx context.Context, body []byte) error {
	b := slices.Clone(body)
	b[len(b)-1] ^= 1
	return f.Conn.Post(ctx, f.kind, b)
}

var errFault = errors.New("refused by the test")

func refuse(*faulty, context.Context, []byte) error { return errFault }

// Each way to break a promise is found, and named.
func TestVerifyFindsFaults(t *testing.T) {
	target := serveForTest(t, ServerOptions{})
	o := Options{Do: Verify, Count: 30, Routines: 1, Conns: 1, Batch: 1, Payload: 64, Stream: 2, Sample: 1}
	for _, tc := range []struct {
		name, kind string
		fault      func(*faulty, context.Context, []byte) error
		want       string
		check      func(r *Report) bool
	}{
		{"nothing", "", nil, "", func(r *Report) bool {
			return *r.Verified == Verified{Posts: Class{Done: 10}, Acked: Class{Done: 10}, Requests: Class{Done: 10}}
		}},
		{"a lost post", kindVerifyPost, lose, "verify: 1 posts did not arrive", func(r *Report) bool {
			return r.Verified.Posts.Missing == 1 && len(r.Lost) == 1 && r.Lost[0].Verb == "post" && r.Lost[0].Seq == 4
		}},
		{"a doubled post", kindVerifyPost, double, "verify: 1 posts arrived more than once", func(r *Report) bool { return r.Verified.Posts.Duplicates == 1 }},
		{"a spoilt post", kindVerifyPost, spoil, "verify: 1 posts were not what was sent", func(r *Report) bool { return r.Verified.Posts.Corrupt == 1 }},
		{"a lost acknowledged post", kindVerifyAcked, lose, "verify: 1 acknowledged posts did not arrive", func(r *Report) bool {
			return r.Verified.Acked.Missing == 1 && r.Lost[0] == FailedCall{Verb: "acked post", Seq: 4, Error: "succeeded, but the server never had it"}
		}},
		{"a wrong answer", kindVerifyRequest, lose, "1 calls failed, first request 4 of connection 0, routine 0: not the body that was sent", func(r *Report) bool {
			return r.Verified.Requests.Corrupt == 1 && r.Verified.Requests.Failed == 1 && r.Verified.Requests.Done == 9
		}},
		{"a refused call", kindVerifyRequest, refuse, "1 calls failed, first request 4 of connection 0, routine 0: refused by the test", func(r *Report) bool {
			return r.Verified.Requests.Failed == 1 && r.Failed == 1 && r.Failures[0].Seq == 4
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := measure(t, target, o, func(run *Run) {
				run.stall = 100 * time.Millisecond
				run.Conns[0] = &faulty{Conn: run.Conns[0].(*wire.Conn), kind: tc.kind, at: 4, fault: tc.fault}
			})
			got := ""
			if err := r.Err(); err != nil {
				got = err.Error()
			}
			if got != tc.want && !strings.HasPrefix(got, tc.want+": ") || !tc.check(r) {
				t.Errorf("%q, want %q\n%+v\n%+v %+v", got, tc.want, r.Verified, r.Lost, r.Failures)
			}
		})
	}
}

func TestPostsThatAreLost(t *testing.T) {
	target := serveForTest(t, ServerOptions{})
	o := Options{Do: Post, Count: 30, Routines: 1, Conns: 1, Batch: 1, Payload: 64, Stream: 1, Sample: 1}
	r := measure(t, target, o, func(run *Run) {
		run.stall = 100 * time.Millisecond
		run.Conns[0] = &faulty{Conn: run.Conns[0].(*wire.Conn), kind: KindPost, at: 4, fault: lose}
	})
	if err := r.Err(); err == nil || err.Error() != "the server had 29 of 30 posts" {
		t.Errorf("%v, %+v", err, r.Delivery)
	}
}

// A server that goes away in the midst of a run ends it, with the calls that
// failed.
func TestServerGoesAway(t *testing.T) {
	for _, do := range allDo {
		t.Run(string(do), func(t *testing.T) {
			target, stop := startServer(t, ServerOptions{})
			o := Options{Do: do, Count: 1 << 30, Routines: 2, Conns: 2, Batch: 10, Payload: 64, Stream: 1000, Sample: 1}
			ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
			defer cancel()
			run, closeAll, err := Open(ctx, target, o)
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll()
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				for tick := time.NewTicker(time.Millisecond); run.Done() < 300; {
					<-tick.C
				}
				gone, cancel := context.WithCancel(t.Context())
				cancel() // at once
				_ = stop(gone)
			}()
			r, err := run.Measure(ctx)
			<-stopped
			if err != nil {
				t.Fatal(err)
			}
			if r.Interrupted || r.Failed == 0 && do != Verify || r.Err() == nil || r.Ops < 300 || ctx.Err() != nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A server that is started again while the run goes on: the calls that this costs
// are listed, and everything that was acknowledged is there, once.
func TestRunReconnects(t *testing.T) {
	dir := t.TempDir()
	o := ServerOptions{Journal: filepath.Join(dir, "server")}
	target, stop := startServer(t, o)
	target.Reconnect = true
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	run, closeAll, err := Open(ctx, target, Options{
		Do: Verify, Count: 2000, Routines: 3, Conns: 2, Batch: 1, Payload: 64, Stream: 5, Sample: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	run.stall = 200 * time.Millisecond
	closeFile, err := run.KeepAcknowledged(filepath.Join(dir, "client"))
	if err != nil {
		t.Fatal(err)
	}
	measured := make(chan *Report, 1)
	go func() {
		r, err := run.Measure(ctx)
		if err != nil {
			t.Error(err)
		}
		measured <- r
	}()
	for tick := time.NewTicker(time.Millisecond); run.Done() < 500 && ctx.Err() == nil; {
		<-tick.C
	}
	gone, now := context.WithCancel(ctx)
	now()
	_ = stop(gone) // cuts off the calls in flight
	_, stop = startServer(t, o, target.Addr)
	r := <-measured
	closeAll()
	if err := errors.Join(closeFile(), stop(ctx)); err != nil {
		t.Error(err)
	}
	if r == nil {
		return
	}
	v := r.Verified
	if r.Err() != nil || !v.Restarted || v.Reconnects < 2 || r.Ops != 4000 {
		t.Errorf("%v\n%+v\n%+v %+v", r.Err(), v, r.Failures, r.Lost)
	}
	had := map[Acked]int{}
	for _, a := range read(t, o.Journal) {
		had[a]++
	}
	for _, a := range read(t, filepath.Join(dir, "client")) {
		if had[a] != 1 {
			t.Errorf("%v is there %d times", a, had[a])
		}
	}
	if int64(len(had)) != v.Acked.Done+v.Acked.Failed {
		t.Errorf("%d are kept there, of %+v", len(had), v.Acked)
	}
}
