package load_test

import (
	"io"
	"net"
	"testing"
	"time"

	"paddock/load"
)

// Each callback gets each request once, with consistent times.
func TestEach(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		ended := make([][]load.Outcome, 2)
		r, err := load.Run(t.Context(), load.Plan{
			Address: serve(t, echo), Codec: ping(64), Conns: 5, Depth: 3, Threads: 2, PerConn: 7, Count: 500, Engine: e,
			Each: func(thread int) func(*load.Outcome) {
				return func(e *load.Outcome) { ended[thread] = append(ended[thread], *e) }
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		firsts := int64(0)
		for _, thread := range ended {
			for i, e := range thread {
				if i > 0 && e.Done < thread[i-1].Done || e.Due != e.Sent || e.FirstByte < e.Sent || e.Done < e.FirstByte ||
					e.Class != load.ClassOK || e.Body != 64 {
					t.Fatalf("%+v", e)
				}
				if e.Connected != 0 {
					firsts++
					if e.Dialed > e.Connected || e.Connected > e.Sent {
						t.Fatalf("%+v", e)
					}
				}
			}
		}
		v := &r.Total
		if n := int64(len(ended[0]) + len(ended[1])); n != 500 || v.Done != 500 {
			t.Errorf("told of %d, %d were answered", n, v.Done)
		}
		// The last connections may have had nothing to do.
		if firsts < 500/7 || firsts > v.Connects {
			t.Errorf("%d were the first of their connections, of which there were %d", firsts, v.Connects)
		}
	})
}

// Requests that had no answer have ended too.
func TestEachIsToldOfFailures(t *testing.T) {
	for _, tc := range []struct {
		name    string
		service func(net.Conn)
		class   load.Class
		first   bool // a byte came
	}{
		{"closed", func(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, 8)) }, load.ClassClosed, false},
		{"partway", func(c net.Conn) {
			_, _ = io.ReadFull(c, make([]byte, 8))
			_, _ = c.Write(make([]byte, 3))
		}, load.ClassEarlyEnd, true},
		{"silent", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, load.ClassTimeout, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engines(t, func(t *testing.T, e load.Engine) {
				var ended []load.Outcome
				r, err := load.Run(t.Context(), load.Plan{
					Address: serve(t, tc.service), Codec: ping(8), Conns: 3, Count: 3, Timeout: 500 * time.Millisecond, Engine: e,
					Each: func(int) func(*load.Outcome) { return func(e *load.Outcome) { ended = append(ended, *e) } },
				}, nil)
				if err != nil || len(ended) != 3 {
					t.Fatalf("%+v, %v", ended, err)
				}
				if v := &r.Total; v.Lost+int64(v.Response.Count()) != 3 || (v.Lost == 0) != (tc.class == load.ClassTimeout) {
					t.Errorf("%d lost, %d with a time", v.Lost, v.Response.Count())
				}
				for _, e := range ended {
					if e.Class != tc.class || (e.FirstByte != 0) != tc.first || e.Done < e.Sent || e.Connected == 0 {
						t.Errorf("%+v", e)
					}
				}
			})
		})
	}
}
