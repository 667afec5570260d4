package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// FuzzConn feeds a real connection bytes that a peer may have made up, in pieces of
// any size. It must not panic, hang or leak, and must end with an error that it has
// a name for.
func FuzzConn(f *testing.F) {
	for i, v := range readVectors(f, "frames.txt") {
		f.Add(byte(1|i<<1), uint64(i), v)
	}
	for i := range uint64(30) {
		script := make([]byte, 200)
		random := rand.New(rand.NewPCG(i, 1))
		for j := range script {
			script[j] = byte(random.Uint32())
		}
		f.Add(byte(0), i, script)
	}
	f.Fuzz(func(t *testing.T, mode byte, seed uint64, script []byte) {
		if len(script) > 64<<10 {
			return
		}
		bubble(t, func(t *testing.T) { fuzzOneSide(t, mode, seed, script) })
	})
}

func fuzzOneSide(t *testing.T, mode byte, seed uint64, script []byte) {
	cfg := &wire.Config{Mux: fuzzMux(), Logger: quiet, MaxInflight: 64, Idle: time.Second}
	p, c := attack(t, cfg)
	if mode&2 == 0 {
		p.listen()
	}
	if mode&4 == 0 {
		p.hello(wire.Hello{Idle: time.Second}, hostileKinds...)
	}
	b := script
	if mode&1 == 0 {
		b = madeUp(script)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for len(b) > 0 {
		n := min(len(b), 1+random.IntN(1<<random.IntN(16)))
		if p.bytes(b[:n]) != nil {
			break
		}
		b = b[n:]
		if random.IntN(4) == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	if mode&8 == 0 {
		p.nc.Close()
	}
	<-c.Done() // T is a second, so that a peer that stays is silent too long
	var broken *frame.ProtocolError
	var remote *wire.Error
	if err := c.Err(); !errors.Is(err, wire.ErrClosed) && !errors.Is(err, wire.ErrPeerDead) && !errors.Is(err, wire.ErrNotWire) &&
		!errors.Is(err, wire.ErrHelloLate) && !errors.As(err, &broken) && !errors.As(err, &remote) && !isBrokenPipe(err) {
		t.Errorf("ended with %v", err)
	}
}

// isBrokenPipe is for a peer that hangs up while something is written.
func isBrokenPipe(err error) bool {
	return err != nil && bytes.Contains([]byte(err.Error()), []byte("broken pipe"))
}

// fuzzMux serves the hostileKinds with handlers that use the received values.
func fuzzMux() *wire.Mux {
	mux := echoMux()
	mux.HandleRequest("stuck", func(ctx context.Context, r *wire.Request) error {
		s, err := r.Promote(r.Body)
		if err != nil {
			return err
		}
		if r.Stream() != nil {
			_, _ = s.ReadMsg(nil)
		}
		_ = s.WriteMsg(make([]byte, 100_000))
		<-ctx.Done()
		return ctx.Err()
	})
	mux.HandleStream("stuck", func(ctx context.Context, s *wire.Stream) error {
		_, err := s.ReadMsg(nil)
		_ = s.CloseWrite()
		return err
	})
	wire.HandlePost(mux, "post", func(context.Context, []byte) error { return nil })
	big := payload(200_000)
	wire.Handle(mux, "big", func(context.Context, []byte) ([]byte, error) { return big, nil }, wire.Inline())
	return mux
}

// madeUp turns a script into frames that are legal in themselves, and mostly in
// their place: it keeps count of generations.
func madeUp(script []byte) (b []byte) {
	var generations [8]int
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		v := script[0]
		script = script[1:]
		return int(v)
	}
	for len(script) > 0 {
		op, how := next(), next()
		index := how % 4
		side := frame.Dialer
		if how&64 != 0 && op%4 == 0 {
			side = frame.Acceptor
		}
		if typ := frame.Type(op % 16); typ == frame.REQ || typ == frame.OPEN {
			generations[index]++
		}
		f := frame.Frame{
			Type: frame.Type(op % 16), Kind: uint32(1 + how/4%5),
			ID: uint32(frame.MakeSlot(side, uint32(index+1), uint16(generations[index]&4095))),
		}
		switch f.Type {
		case frame.POST:
			f.ID, f.Body = f.Kind, payload(next()*how/8)
		case frame.POSTS:
			f.ID = f.Kind
			for range 1 + how%5 {
				n := next()
				f.Body = append(binary.AppendUvarint(f.Body, uint64(n)), payload(n)...)
			}
		case frame.REQ, frame.OPEN, frame.DATA, frame.RES:
			f.Body = payload(next() * (how / 16))
			f.Flags = frame.Flags(next() & 3)
			if f.Type == frame.REQ {
				f.Flags &= frame.FlagMore
			}
			if f.Type == frame.OPEN && f.Has(frame.FlagConfirm) {
				f.Body = nil
			}
			if f.Type == frame.RES && f.Has(frame.FlagErr) {
				f.Flags, f.Code, f.Body = frame.FlagErr, 7, nil
			}
		case frame.RESET:
			f.Code, f.Flags = wire.Code(1+next()), frame.Flags(how>>7)
		case frame.CREDIT:
			f.Credit = uint32(1 + next()<<(how%16))
			if how&32 != 0 {
				f.ID = uint32(how & 1)
			}
		case frame.PING:
			f.ID, f.Body, f.Flags = 0, make([]byte, 8), frame.Flags(how&1)
		case frame.ACK:
			f.ID, f.Count = 0, uint64(next())
		case frame.HELLO, frame.CRITICAL:
			continue // they end it
		case frame.GOAWAY:
			f.Code = wire.Code(how / 64)
		case frame.BIND:
			f.ID, f.Text = uint32(6+next()), fmt.Appendf(nil, "kind.%d", how)
		}
		b = frame.AppendFrame(b, &f)
	}
	return b
}

// FuzzPair lets two connections do what a script says, both at once, over a link
// that cuts everything into pieces. What was sent must be what is received: posts
// once and in their order, answers to their questions, bytes of streams in their
// order. In the end no slot is left and each credit is what it was.
func FuzzPair(f *testing.F) {
	for i := range uint64(12) {
		script := make([]byte, 20+15*i)
		random := rand.New(rand.NewPCG(i, 2))
		for j := range script {
			script[j] = byte(random.Uint32())
		}
		f.Add(i, script)
	}
	f.Fuzz(func(t *testing.T, seed uint64, script []byte) {
		if len(script) > 1000 {
			return
		}
		bubble(t, func(t *testing.T) { newDuo(t, seed).run(script) })
	})
}

// duo is the two sides and what they owe each other.
type duo struct {
	t       *testing.T
	conns   [2]*wire.Conn
	sent    [2]map[string]int // posts by kind
	got     [2]map[string]int
	mu      sync.Mutex // guards got
	wg      sync.WaitGroup
	running int
}

var postKinds = []string{"post", "post.inline", "post.other"}

func newDuo(t *testing.T, seed uint64) *duo {
	p := &duo{t: t}
	random := rand.New(rand.NewPCG(seed, 3))
	chunk := func() wiretest.Flow { return wiretest.Flow{Chunk: 1 << random.IntN(17)} }
	dc, ac := wiretest.Pipe(1 << (8 + random.IntN(12)))
	dialer := wiretest.Faulty(dc, wiretest.Faults{In: chunk(), Out: chunk(), Seed: seed | 1})
	acceptor := wiretest.Faulty(ac, wiretest.Faults{In: chunk(), Out: chunk(), Seed: seed | 1})
	cfg := [2]*wire.Config{}
	for side := range cfg {
		p.sent[side], p.got[side] = map[string]int{}, map[string]int{}
		cfg[side] = &wire.Config{Mux: p.mux(side), Logger: quiet}
		if random.IntN(2) == 0 { // the least, so that every limit is met
			cfg[side].MaxFrame, cfg[side].MaxInflight, cfg[side].ConnBudget = 16384, 64, 262144
			cfg[side].StreamInitial, cfg[side].PostInitial = 65536, 65536
		}
	}
	p.conns[0], p.conns[1] = over(t, dialer, acceptor, cfg[0], cfg[1])
	return p
}

func (p *duo) mux(side int) *wire.Mux {
	mux := sinkMux()
	for _, kind := range postKinds {
		var options []wire.HandlerOption
		if kind == "post.inline" {
			options = append(options, wire.Inline())
		}
		wire.HandlePost(mux, kind, func(_ context.Context, b []byte) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if n := int(binary.LittleEndian.Uint32(b)); n != p.got[side][kind] {
				p.t.Errorf("%s: number %d instead of %d", kind, n, p.got[side][kind])
			}
			p.got[side][kind]++
			return nil
		}, options...)
	}
	wire.Handle(mux, "back", func(ctx context.Context, body []byte) ([]byte, error) {
		return wire.ConnFrom(ctx).Call(ctx, "echo", body)
	})
	mux.HandleRequest("promote", func(_ context.Context, r *wire.Request) error {
		s, err := r.Promote(nil)
		if err == nil {
			_, err = s.Write(r.Body)
		}
		return err
	})
	mux.HandleStream("refuse", func(context.Context, *wire.Stream) error {
		return &wire.Error{Code: wire.FirstApplicationCode}
	})
	return mux
}

// run begins what the script says, a few things at once, and checks the end.
func (p *duo) run(script []byte) {
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		v := script[0]
		script = script[1:]
		return int(v)
	}
	for len(script) > 0 {
		op, side, n := next(), next()&1, next()*next()*next()/512
		p.act(op, side, n)
		if p.running++; p.running%8 == 0 {
			p.wg.Wait()
		}
	}
	p.wg.Wait()
	settled(p.t, p.conns[0], p.conns[1])
	for side := range p.sent {
		for kind, n := range p.sent[side] {
			if got := p.got[1-side][kind]; got != n {
				p.t.Errorf("%d of %d %s have come", got, n, kind)
			}
		}
	}
}

func (p *duo) act(op, side, n int) {
	c := p.conns[side]
	ctx := context.Background()
	switch op % 8 {
	case 0, 1, 2:
		kind := postKinds[op%8]
		for range 1 + n%20 {
			body := binary.LittleEndian.AppendUint32(nil, uint32(p.sent[side][kind]))
			if err := c.Post(ctx, kind, append(body, payload(n%5000)...)); err != nil {
				p.t.Errorf("post: %v", err)
			}
			p.sent[side][kind]++
		}
	case 3, 4:
		kind := []string{"echo", "echo.slow", "back", "promote"}[op/8%4]
		p.wg.Go(func() {
			body := payload(n % 16_000)
			if got, err := c.Call(ctx, kind, body); err != nil || !bytes.Equal(got, body) {
				p.t.Errorf("%s of %d: %d bytes, %v", kind, len(body), len(got), err)
			}
		})
	case 5:
		p.wg.Go(func() { p.giveUp(c, n) })
	case 6:
		p.wg.Go(func() { p.echo(c, n, op&8 != 0) })
	case 7:
		p.wg.Go(func() { p.abandon(c, n, op/8%4) })
	}
}

// giveUp cancels a call at some time.
func (p *duo) giveUp(c *wire.Conn, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n%3)*time.Microsecond)
	defer cancel()
	kind := []string{"echo.slow", "back", "promote"}[n%3]
	body := payload(n % 10_000)
	got, err := c.Call(ctx, kind, body)
	if err == nil && !bytes.Equal(got, body) || err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		p.t.Errorf("%s given up: %d bytes, %v", kind, len(got), err)
	}
}

// echo sends bytes and reads them back.
func (p *duo) echo(c *wire.Conn, n int, confirm bool) {
	if confirm { // nothing accepts before there is something to write
		if _, err := c.Open(within(p.t, time.Millisecond), "echo", wire.OpenOptions{Confirm: true}); !errors.Is(err, context.DeadlineExceeded) {
			p.t.Errorf("confirm: %v", err)
		}
		return
	}
	s, err := c.Open(context.Background(), "echo", wire.OpenOptions{})
	if err != nil {
		p.t.Errorf("open: %v", err)
		return
	}
	defer s.Close()
	var writing sync.WaitGroup
	defer writing.Wait()
	sent := payload(n)
	writing.Go(func() {
		for rest := sent; len(rest) > 0; {
			k := min(len(rest), 1+n%70_000)
			if _, err := s.Write(rest[:k]); err != nil {
				p.t.Errorf("write: %v", err)
				return
			}
			rest = rest[k:]
		}
		_ = s.CloseWrite()
	})
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, sent) {
		p.t.Errorf("echo of %d: %d bytes, %v", n, len(got), err)
	}
}

// abandon ends a stream in the middle: credit and slot must come back.
func (p *duo) abandon(c *wire.Conn, n, how int) {
	kind := []string{"echo", "sink", "deaf", "refuse"}[how]
	s, err := c.Open(context.Background(), kind, wire.OpenOptions{First: payload(n % 1000)})
	if err != nil {
		p.t.Errorf("open: %v", err)
		return
	}
	_ = s.SetDeadline(time.Now().Add(time.Millisecond))
	_, _ = s.Write(payload(n))
	_, _ = s.Read(make([]byte, 100))
	if n&1 == 0 || kind == "deaf" {
		_ = s.Reset(wire.Aborted)
		return
	}
	s.Close()
}
