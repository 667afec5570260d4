package perf

import (
	"errors"
	"testing"
	"time"
)

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		count, routines int
		want            []int
	}{
		{1, 1, []int{1}},
		{10, 3, []int{4, 3, 3}},
		{9, 3, []int{3, 3, 3}},
		{2, 4, []int{1, 1, 0, 0}},
	} {
		o := Options{Count: tc.count, Routines: tc.routines}
		for r, want := range tc.want {
			if got := o.share(r); got != want {
				t.Errorf("%d among %d: routine %d gets %d, want %d", tc.count, tc.routines, r, got, want)
			}
			if busy := r < o.working(); busy != (want > 0) {
				t.Errorf("%d among %d: routine %d works: %t", tc.count, tc.routines, r, busy)
			}
		}
	}
}

func TestTotal(t *testing.T) {
	o := Options{Count: 10, Conns: 3, Stream: 7}
	for do, want := range map[Do]int64{Post: 30, Request: 30, Verify: 30, StreamTx: 210, StreamRx: 210} {
		o.Do = do
		if got := o.Total(); got != want {
			t.Errorf("%s: %d, want %d", do, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := DefaultOptions().Check(); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Do = "put" }, `nothing to do is called "put"; there are post, request, streamtx, streamrx, verify`},
		{func(o *Options) { o.Count = 0 }, "count is 0; it must be from 1 to 1125899906842624"},
		{func(o *Options) { o.Routines = -1 }, "routines is -1; it must be from 1 to 65536"},
		{func(o *Options) { o.Payload = maxPayload + 1 }, "payload is 16777217; it must be from 0 to 16777216"},
		{func(o *Options) { o.Timeout = time.Second }, "timeout is 1s; only calls of a verifying run have one"},
		{func(o *Options) { o.Batch = 0 }, "batchsize is 0; it must be from 1 to 65536"},
	} {
		o := DefaultOptions()
		tc.change(&o)
		if err := o.Check(); !errors.Is(err, ErrOptions) || err.Error() != "wireperf: options: "+tc.want {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
}
