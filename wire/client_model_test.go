package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// clientModel is what must be true of a client's work, whatever happens to its
// connections: it counts what handlers have done, and compares that with what the
// caller was told.
type clientModel struct {
	t *testing.T

	mu      sync.Mutex
	random  *rand.Rand
	ran     map[uint64]int // calls by id
	last    uint64         // acknowledged post, by number
	posts   map[uint64]int // posts without acknowledgement, by id
	answers map[string]int // outcomes of calls
	ids     atomic.Uint64
}

func newClientModel(t *testing.T, seed uint64) *clientModel {
	return &clientModel{
		t: t, random: rand.New(rand.NewPCG(seed, 7)),
		ran: map[uint64]int{}, posts: map[uint64]int{}, answers: map[string]int{},
	}
}

func (m *clientModel) mux() *wire.Mux {
	mux := wire.NewMux()
	call := func(slow bool) func(context.Context, []byte) ([]byte, error) {
		return func(_ context.Context, body []byte) ([]byte, error) {
			m.mu.Lock()
			m.ran[binary.LittleEndian.Uint64(body)]++
			m.mu.Unlock()
			if slow {
				m.pause()
			}
			return body, nil
		}
	}
	wire.Handle(mux, "inline", call(false), wire.Inline())
	wire.Handle(mux, "slow", call(true))
	mux.HandleRequest("promoted", func(_ context.Context, r *wire.Request) error {
		m.mu.Lock()
		m.ran[binary.LittleEndian.Uint64(r.Body)]++
		m.mu.Unlock()
		s, err := r.Promote(r.Body[:4])
		if err == nil {
			m.pause()
			_, err = s.Write(r.Body[4:])
		}
		return err
	})
	mux.HandlePosts("acked", func(_ context.Context, p *wire.Posts) error {
		for number, body := range p.All() {
			m.mu.Lock()
			if number != m.last+1 || len(body) < 8 || binary.LittleEndian.Uint64(body) != number {
				m.t.Errorf("post %d, %x, came after %d", number, body[:min(8, len(body))], m.last)
			}
			m.last = number
			m.mu.Unlock()
		}
		m.pause()
		return nil
	})
	wire.HandlePost(mux, "post", func(_ context.Context, body []byte) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		id := binary.LittleEndian.Uint64(body)
		if m.posts[id]++; m.posts[id] > 1 {
			m.t.Errorf("post %d was handled twice", id)
		}
		return nil
	})
	return mux
}

// pause takes some time, or none.
func (m *clientModel) pause() {
	if n := m.intN(10); n > 5 {
		time.Sleep(time.Duration(n) * time.Millisecond / 4)
	}
}

func (m *clientModel) intN(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(n)
}

// body is an id, and then some.
func (m *clientModel) body(id uint64) []byte {
	size := 0
	if m.intN(4) == 0 {
		size = m.intN(12_000)
	}
	return append(binary.LittleEndian.AppendUint64(nil, id), payload(size)...)
}

// call makes one call and judges its outcome.
func (m *clientModel) call(c *wire.Client) {
	ctx, again := context.Background(), m.intN(3) == 0
	if again {
		ctx = wire.Idempotent(ctx)
	}
	if m.intN(4) == 0 {
		ctx = wire.WithKey(ctx, fmt.Sprint(m.intN(5)))
	}
	if m.intN(10) == 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Duration(m.intN(20))*time.Millisecond)
		defer cancel()
	}
	id := m.ids.Add(1)
	kind := []string{"inline", "slow", "promoted"}[m.intN(3)]
	body := m.body(id)
	got, err := c.Call(ctx, kind, body)
	m.mu.Lock()
	ran := m.ran[id]
	m.mu.Unlock()
	outcome := "other"
	switch {
	case err == nil:
		outcome = "ok"
		if ran == 0 || ran > 1 && !again || string(got) != string(body) {
			m.t.Errorf("%s %d: answered %d of %d bytes, ran %d times, idempotent %v", kind, id, len(got), len(body), ran, again)
		}
	case errors.Is(err, wire.ErrNotSent):
		outcome = "not sent"
		if ran > 0 || ctx.Err() == nil {
			m.t.Errorf("%s %d: ran %d times: %v", kind, id, ran, err)
		}
	case errors.Is(err, wire.ErrMaybeSent):
		outcome = "maybe sent"
		if ran > 1 && !again || again && ctx.Err() == nil {
			m.t.Errorf("%s %d: ran %d times, idempotent %v: %v", kind, id, ran, again, err)
		}
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "late"
		if ran > 1 && !again {
			m.t.Errorf("%s %d: ran %d times: %v", kind, id, ran, err)
		}
	default:
		m.t.Errorf("%s %d: %v", kind, id, err)
	}
	m.mu.Lock()
	m.answers[outcome]++
	m.mu.Unlock()
}

// work does what many callers do, until all have done theirs.
func (m *clientModel) work(c *wire.Client, callers, each int) {
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				m.call(c)
			}
		})
	}
	wg.Go(func() { // one alone, so that the body can be the number
		for n := range uint64(callers * each) {
			number, err := c.PostAck(context.Background(), "acked", m.body(n+1))
			if err != nil || number != n+1 {
				m.t.Errorf("post %d is %d, %v", n+1, number, err)
			}
			if m.intN(5) == 0 {
				m.pause()
			}
		}
	})
	wg.Go(func() {
		for range callers * each {
			if err := c.Post(context.Background(), "post", m.body(m.ids.Add(1))); err != nil {
				m.t.Errorf("post: %v", err)
			}
		}
	})
	wg.Wait()
	if err := c.WaitAcked(context.Background(), uint64(callers*each)); err != nil {
		m.t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != uint64(callers*each) {
		m.t.Errorf("%d of %d acknowledged posts were handled", m.last, callers*each)
	}
}

// cuts are the faults of a connection: most of the first ones are reset, anywhere.
func cuts(r *rand.Rand, most int) func(n int) wiretest.Faults {
	return func(n int) (f wiretest.Faults) {
		if n >= most {
			return f
		}
		at := wiretest.At(int64(r.IntN(1 << (4 + r.IntN(13)))))
		switch r.IntN(4) {
		case 0, 1:
			f.In.Cut = at
		case 2:
			f.Out.Cut = at
		case 3:
			f.Out.Cut, f.Out.Chunk, f.In.Chunk, f.Seed = at, 1+r.IntN(500), 1+r.IntN(500), 1
		}
		return f
	}
}

var (
	firstSeed  = flag.Uint64("modelseed", 0, "where the seeds of TestClientModel begin")
	modelSeeds = flag.Uint64("modelseeds", 3, "how many there are")
)

// TestClientModel cuts connections at random bytes, drains and closes them, while
// all kinds of work go on.
func TestClientModel(t *testing.T) {
	total := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*modelSeeds; seed++ {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := newClientModel(t, seed)
				r := rand.New(rand.NewPCG(seed, 1))
				b := &backend{
					config: &wire.Config{Mux: m.mux(), Sessions: new(wire.Sessions), DrainTimeout: time.Second},
					faults: cuts(r, 25),
				}
				c := b.client(t, wire.ClientConfig{
					Conns: 1 + int(seed%3), MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
					MaxUnacked: 1 + int(seed*seed%100),
				})
				stop := make(chan struct{})
				var wg sync.WaitGroup
				wg.Go(func() { b.disturb(seed, stop) })
				m.work(c, 8, 20)
				close(stop)
				wg.Wait()
				if n := len(b.attempts()); n < 5 {
					t.Errorf("only %d connections", n)
				}
				for outcome, n := range m.answers {
					total[outcome] += n
				}
				synctest.Wait()
				if s := c.Stats(); s.Waiting != 0 || s.Unacked != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
		if !ok {
			break
		}
	}
	t.Logf("%v", total)
	if total["ok"] == 0 || total["maybe sent"] == 0 {
		t.Errorf("outcomes %v", total)
	}
}

// disturb drains or closes the newest connection now and then, from the acceptor's
// side.
func (b *backend) disturb(seed uint64, stop chan struct{}) {
	r := rand.New(rand.NewPCG(seed, 2))
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(r.IntN(20)) * time.Millisecond):
		}
		b.mu.Lock()
		if len(b.conns) == 0 {
			b.mu.Unlock()
			continue
		}
		conn := b.conns[len(b.conns)-1]
		b.mu.Unlock()
		switch r.IntN(3) {
		case 0:
			wg.Go(func() { _ = conn.Drain(context.Background()) })
		case 1:
			conn.Abort(wire.Unavailable)
		}
	}
}

// TestClientModelOverSockets is the same over TCP on loopback, in real time.
func TestClientModelOverSockets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := newClientModel(t, *firstSeed)
	b := &backend{
		tcp: l, config: &wire.Config{Mux: m.mux(), Sessions: new(wire.Sessions)},
		faults: cuts(rand.New(rand.NewPCG(*firstSeed, 1)), 40),
	}
	c := b.client(t, wire.ClientConfig{
		Conns: 2, MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
	})
	m.work(c, 8, 50)
	if n := len(b.attempts()); n < 5 {
		t.Errorf("only %d connections", n)
	}
	t.Logf("%v", m.answers)
}
