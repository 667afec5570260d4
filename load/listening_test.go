package load_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/load"
)

// hub sends each record of 16 bytes to all connections that began with 'L', but for every
// lose-th, and an 'a' back to where it came from. An 'L' is answered by one.
type hub struct {
	lose int64 // 0 = none

	mu        sync.Mutex
	listeners []net.Conn
	records   int64
}

func (h *hub) serve(c net.Conn) {
	var record [16]byte
	if _, err := io.ReadFull(c, record[:1]); err != nil {
		return
	}
	if record[0] == 'L' {
		h.mu.Lock()
		h.listeners = append(h.listeners, c)
		h.mu.Unlock()
		_, _ = c.Write([]byte{'L'})
		_, _ = io.Copy(io.Discard, c)
		return
	}
	for {
		if _, err := io.ReadFull(c, record[:]); err != nil {
			return
		}
		h.mu.Lock()
		h.records++
		if h.lose == 0 || h.records%h.lose != 0 {
			for _, l := range h.listeners {
				_, _ = l.Write(record[:])
			}
		}
		h.mu.Unlock()
		_, _ = c.Write([]byte{'a'})
	}
}

// hubCodec publishes records with their times.
type hubCodec struct {
	listeners       int
	ready           atomic.Int64
	sent, delivered atomic.Int64
	batches         atomic.Int64
}

func (*hubCodec) Name() string { return "hub" }

func (h *hubCodec) Thread(int, int) load.Thread { return hubThread{h} }

type hubThread struct{ *hubCodec }

func (t hubThread) Session() load.Session { return &hubPublisher{hubCodec: t.hubCodec} }

func (t hubThread) Listener(int) load.Session { return &hubListener{hubCodec: t.hubCodec} }

func (t hubThread) Missing() int64 { return t.sent.Load()*int64(t.listeners) - t.delivered.Load() }

type hubPublisher struct {
	*hubCodec
	record [16]byte
	made   int64
}

func (*hubPublisher) Greet(dst []byte) []byte { return append(dst, 'P') }

func (p *hubPublisher) Ready() bool { return p.ready.Load() == int64(p.listeners) }

func (p *hubPublisher) Request(r *load.Request) error {
	binary.LittleEndian.PutUint64(p.record[:], uint64(r.Due))
	binary.LittleEndian.PutUint64(p.record[8:], uint64(r.Sent))
	r.Bytes, r.Quiet = p.record[:], true
	p.made++
	p.sent.Add(1)
	return nil
}

func (p *hubPublisher) EndBatch(dst []byte) []byte {
	if p.made > 0 {
		p.batches.Add(1)
		p.made = 0
	}
	return dst
}

func (*hubPublisher) Receive(in []byte, answers *load.Answers) (int, error) {
	for range in {
		answers.Add(load.Answer{})
	}
	return len(in), nil
}

func (*hubPublisher) End(*load.Answers) error { return nil }

type hubListener struct {
	*hubCodec
	is bool
}

func (*hubListener) Greet(dst []byte) []byte { return append(dst, 'L') }

func (l *hubListener) Ready() bool { return l.is }

func (*hubListener) Request(*load.Request) error { panic("a listener is asked for nothing") }

func (l *hubListener) Receive(in []byte, answers *load.Answers) (used int, err error) {
	if !l.is {
		l.is, used = true, 1
		l.ready.Add(1)
	}
	for ; len(in)-used >= 16; used += 16 {
		due, sent := binary.LittleEndian.Uint64(in[used:]), binary.LittleEndian.Uint64(in[used+8:])
		answers.Add(load.Answer{Match: load.ByTimes, Due: int64(due), Sent: int64(sent), Body: 16})
		l.delivered.Add(1)
	}
	return used, nil
}

func (*hubListener) End(*load.Answers) error { return nil }

// Each listener gets every record, whichever thread sent it: these are the answers, with
// the times from the publisher's; those of the publishers themselves count for nothing.
func TestListeners(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		for _, arrivals := range []load.Arrivals{nil, load.Constant{PerSecond: 10_000}} {
			codec := &hubCodec{listeners: 3}
			r, err := load.Run(t.Context(), load.Plan{
				Address: serve(t, (&hub{}).serve), Codec: codec, Conns: 2, Listeners: 3, Fanout: 3, Depth: 8, Threads: 2,
				Arrivals: arrivals, Count: 501, Engine: e,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			v := &r.Total
			if v.Sent != 501 || v.Done != 1503 || v.Failed[load.ClassOK] != 1503 || v.Response.Count() != 1503 || v.Connects != 5 || v.Errors() != 0 {
				t.Errorf("%+v", v)
			}
			if r.Unanswered.Count != 0 || v.Response.Min() <= 0 || v.InFlight <= 0 {
				t.Errorf("%+v, response times from %v, %v under way", r.Unanswered, v.Response.Min(), v.InFlight)
			}
			if n := codec.batches.Load(); n == 0 || n > 501 {
				t.Errorf("%d batches", n)
			}
		}
	})
}

// An answer that a listener never gets is unanswered when the grace is over.
func TestListenersMiss(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		r, err := load.Run(t.Context(), load.Plan{
			Address: serve(t, (&hub{lose: 10}).serve), Codec: &hubCodec{listeners: 2}, Conns: 1, Listeners: 2, Fanout: 2,
			Count: 100, Grace: 30 * time.Millisecond, Engine: e,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Unanswered.Count != 20 || r.Total.Done != 180 || r.Total.Errors() != 0 {
			t.Errorf("%+v, %d came", r.Unanswered, r.Total.Done)
		}
	})
}

// With listeners alone nothing is sent, and a duration ends the run.
func TestListenersAlone(t *testing.T) {
	r, err := load.Run(t.Context(), load.Plan{
		Address: serve(t, (&hub{}).serve), Codec: &hubCodec{listeners: 1}, Listeners: 1, Duration: 20 * time.Millisecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Sent != 0 || r.Total.Connects != 1 || r.Elapsed != 20*time.Millisecond {
		t.Errorf("%+v in %v", r.Total, r.Elapsed)
	}
	if _, err := load.Run(t.Context(), load.Plan{Address: "127.0.0.1:1", Codec: ping(1), Listeners: 1, Count: 1}, nil); err == nil {
		t.Error("a run that sends nothing ends by no count")
	}
	if _, err := load.Run(t.Context(), load.Plan{Address: serve(t, echo), Codec: ping(1), Conns: 1, Listeners: 1, Count: 1}, nil); err == nil {
		t.Error("a codec without listeners")
	}
}
