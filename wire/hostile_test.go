package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// hostileKinds are what hostileMux serves, as numbered by rawPeer.hello.
var hostileKinds = []string{"echo", "echo.slow", "stuck", "post", "big"}

const (
	kindEcho = iota + 1
	kindSlow
	kindStuck
	kindPost
	kindBig
)

// hostileMux serves all verbs; "stuck" stays until its context ends.
func hostileMux(running *atomic.Int32) *wire.Mux {
	mux := echoMux()
	stuck := func(ctx context.Context) error {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}
	wire.Handle(mux, "stuck", func(ctx context.Context, _ []byte) ([]byte, error) { return nil, stuck(ctx) })
	mux.HandleStream("stuck", func(ctx context.Context, _ *wire.Stream) error { return stuck(ctx) })
	wire.HandlePost(mux, "stuck", func(ctx context.Context, _ []byte) error { return stuck(ctx) })
	wire.HandlePost(mux, "post", func(context.Context, []byte) error { return nil })
	big := payload(1 << 20)
	wire.Handle(mux, "big", func(context.Context, []byte) ([]byte, error) { return big, nil }, wire.Inline())
	return mux
}

func slotID(index uint32, generation int) uint32 {
	return uint32(frame.MakeSlot(frame.Dialer, index, uint16(generation%4096)))
}

// Each flood ends the connection with FLOOD, or does nothing that grows: never more
// handlers than slots, and no more memory than the windows.
func TestFloods(t *testing.T) {
	resetFrame := func(id uint32) frame.Frame { return frame.Frame{Type: frame.RESET, ID: id, Code: wire.Cancelled} }
	for _, tc := range []struct {
		name  string
		flood bool // ends with FLOOD
		first []frame.Frame
		next  func(i int) []frame.Frame
	}{
		{"OPEN and RESET", true, nil, func(i int) []frame.Frame {
			if i < 64 {
				id := slotID(uint32(i+1), 1)
				return []frame.Frame{{Type: frame.OPEN, ID: id, Kind: kindStuck}, resetFrame(id)}
			}
			return []frame.Frame{resetFrame(slotID(uint32(i%64+1), 1))}
		}},
		{"REQ and CANCEL", true, nil, func(i int) []frame.Frame {
			if i < 64 {
				id := slotID(uint32(i+1), 1)
				return []frame.Frame{{Type: frame.REQ, ID: id, Kind: kindStuck}, {Type: frame.CANCEL, ID: id}}
			}
			return []frame.Frame{{Type: frame.CANCEL, ID: slotID(uint32(i%64+1), 1)}}
		}},
		{"PING", false, nil, func(i int) []frame.Frame {
			return []frame.Frame{{Type: frame.PING, Body: fmt.Appendf(nil, "%08d", i)}}
		}},
		{"PONG", false, nil, func(i int) []frame.Frame {
			return []frame.Frame{{Type: frame.PING, Flags: frame.FlagPong, Body: fmt.Appendf(nil, "%08d", i)}}
		}},
		{"small CREDIT", true, nil, func(int) []frame.Frame { return []frame.Frame{{Type: frame.CREDIT, Credit: 1}} }},
		{"extension", true, nil, func(int) []frame.Frame {
			return []frame.Frame{{Type: frame.EXTENSION, ID: 77, Body: make([]byte, 100)}}
		}},
		{"empty DATA", true, []frame.Frame{{Type: frame.OPEN, ID: slotID(1, 1), Kind: kindStuck}}, func(int) []frame.Frame {
			return []frame.Frame{{Type: frame.DATA, Flags: frame.FlagMore, ID: slotID(1, 1)}}
		}},
		{"empty posts", false, nil, func(int) []frame.Frame { return []frame.Frame{{Type: frame.POST, ID: kindPost}} }},
		{"STOP", true, []frame.Frame{{Type: frame.OPEN, ID: slotID(1, 1), Kind: kindStuck}}, func(int) []frame.Frame {
			f := resetFrame(slotID(1, 1))
			f.Flags = frame.FlagStop
			return []frame.Frame{f}
		}},
		{"GOAWAY", false, nil, func(int) []frame.Frame { return []frame.Frame{{Type: frame.GOAWAY}} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var running atomic.Int32
				p, c := attack(t, &wire.Config{Mux: hostileMux(&running), MaxInflight: 64, Logger: quiet})
				p.hello(wire.Hello{}, hostileKinds...)
				p.listen()
				_ = p.send(tc.first...)
				synctest.Wait()
				// A GOAWAY while nothing is under way ends the connection, as it should.
				if tc.name == "GOAWAY" {
					_ = p.send(frame.Frame{Type: frame.REQ, ID: slotID(1, 1), Kind: kindStuck})
				}
				before, most := inUse(), int32(0)
				for i := range 30_000 {
					if p.send(tc.next(i)...) != nil {
						break
					}
					most = max(most, running.Load())
				}
				synctest.Wait()
				if most > 64 {
					t.Errorf("%d handlers ran at once", most)
				}
				if n := c.Queued(); n > 64<<10 {
					t.Errorf("%d bytes wait to be written", n)
				}
				if grown := inUse() - before; grown > 24<<20 {
					t.Errorf("memory has grown by %d", grown)
				}
				if tc.flood {
					p.closedWith(c, wire.Flood)
					return
				}
				if err := c.Err(); err != nil {
					t.Errorf("ended: %v", err)
				}
			})
		})
	}
}

// Floods that are against a rule end the connection with the rule's code.
func TestRuleBreakers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		code   wire.Code
		frames []frame.Frame
	}{
		{"a second HELLO", wire.Protocol, []frame.Frame{{Type: frame.HELLO, Body: []byte{0xa1, 1, 0x82, 1, 1}}}},
		{"BIND twice", wire.Protocol, []frame.Frame{{Type: frame.BIND, ID: 1, Text: []byte("echo")}}},
		{"critical extension", wire.Unsupported, []frame.Frame{{Type: frame.CRITICAL}}},
		{"post of an unbound kind", wire.Protocol, []frame.Frame{{Type: frame.POST, ID: 900}}},
		{"credit over the limit", wire.FlowControl, []frame.Frame{{Type: frame.CREDIT, Credit: 1<<31 - 1}}},
		{"post over the lane", wire.FlowControl, []frame.Frame{
			{Type: frame.POST, ID: kindStuck, Body: make([]byte, 60_000)},
			{Type: frame.POST, ID: kindStuck, Body: make([]byte, 60_000)},
		}},
		{"an answer nobody asked for", wire.Protocol, []frame.Frame{{Type: frame.RES, ID: uint32(frame.MakeSlot(frame.Acceptor, 1, 1))}}},
		{"a slot used twice", wire.Protocol, []frame.Frame{
			{Type: frame.REQ, ID: slotID(1, 1), Kind: kindStuck}, {Type: frame.REQ, ID: slotID(1, 2), Kind: kindStuck},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var running atomic.Int32
				p, c := attack(t, &wire.Config{Mux: hostileMux(&running), PostInitial: 64 << 10, Logger: quiet})
				p.hello(wire.Hello{}, hostileKinds...)
				p.listen()
				synctest.Wait()
				_ = p.send(tc.frames...)
				p.closedWith(c, tc.code)
				var broken *frame.ProtocolError
				if !errors.As(c.Err(), &broken) || broken.Code != tc.code {
					t.Errorf("got %v", c.Err())
				}
				synctest.Wait()
				if n := running.Load(); n != 0 {
					t.Errorf("%d handlers are left", n)
				}
			})
		})
	}
}

// A length that is announced takes no memory: one over max_frame closes, one under
// it costs a block until its bytes come.
func TestAnnouncedLengths(t *testing.T) {
	bubble(t, func(t *testing.T) {
		header := func(typ frame.Type, id uint32, n int) []byte { return frame.MakeHeader(typ, 0, id, n).Append(nil) }
		p, c := attack(t, nil)
		p.hello(wire.Hello{}, hostileKinds...)
		p.listen()
		_ = p.bytes(header(frame.POST, kindPost, 1<<24-1))
		p.closedWith(c, wire.FrameSize)

		p, c = attack(t, nil) // before HELLO too
		p.listen()
		_ = p.bytes(append([]byte(frame.Preface), header(frame.HELLO, 0, 1<<24-1)...))
		p.closedWith(c, wire.FrameSize)

		before := inUse()
		for range 20 {
			p, _ := attack(t, &wire.Config{MaxFrame: 1<<24 - 1})
			p.hello(wire.Hello{}, hostileKinds...)
			_ = p.bytes(header(frame.DATA, slotID(1, 1), 1<<24-1))
		}
		synctest.Wait()
		if grown := inUse() - before; grown > 20*(256<<10+1<<20) { // the pipes hold some too
			t.Errorf("20 announcements of 16 MiB take %d bytes", grown)
		}
	})
}

// A peer that asks and never reads answers costs no more than its budget, whatever
// the size of the answers; the reader goes on.
func TestAnswersThatNobodyReads(t *testing.T) {
	for _, kind := range []uint32{kindEcho, kindSlow, kindBig} {
		t.Run(hostileKinds[kind-1], func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var running atomic.Int32
				const inflight = 256
				p, c := attack(t, &wire.Config{
					Mux: hostileMux(&running), MaxInflight: inflight, ConnBudget: 256 << 10, Idle: time.Hour, Logger: quiet,
				})
				p.hello(wire.Hello{Idle: time.Hour}, hostileKinds...)
				synctest.Wait()
				before := inUse()
				body := payload(60_000)
				for i := range uint32(inflight) {
					if err := p.send(frame.Frame{Type: frame.REQ, ID: slotID(i+1, 1), Kind: kind, Body: body}); err != nil {
						t.Fatalf("the reader has stopped: %v", err)
					}
				}
				synctest.Wait()
				if err := c.Err(); err != nil {
					t.Fatal(err)
				}
				// A goroutine handler holds its request while it waits, inline ones only answers.
				limit := int64(6 << 20)
				if kind == kindSlow {
					limit = inflight * 160 << 10
				}
				if grown := inUse() - before; grown > limit {
					t.Errorf("memory has grown by %d", grown)
				}
			})
		})
	}
}

// A stream whose peer grants one byte at a time makes slow progress, or ends with
// FLOOD; it never costs others anything.
func TestSillyWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var running atomic.Int32
		p, c := attack(t, &wire.Config{Mux: hostileMux(&running), Logger: quiet})
		p.hello(wire.Hello{}, hostileKinds...)
		p.listen()
		_ = p.send(
			frame.Frame{Type: frame.OPEN, ID: slotID(1, 1), Kind: kindEcho, Credit: 1},
			frame.Frame{Type: frame.DATA, ID: slotID(1, 1), Body: payload(20_000)},
		)
		var got []byte
		for range 500 {
			for _, f := range p.take() {
				if f.Type == frame.DATA {
					got = append(got, f.Body...)
				}
			}
			_ = p.send(frame.Frame{Type: frame.CREDIT, ID: slotID(1, 1), Credit: 1})
		}
		if len(got) != 500 || !bytes.Equal(got, payload(20_000)[:500]) {
			t.Errorf("%d bytes have come", len(got))
		}
		for range 10_000 {
			_ = p.send(frame.Frame{Type: frame.CREDIT, ID: slotID(1, 1), Credit: 1})
		}
		p.closedWith(c, wire.Flood)
	})
}

// A peer that breaks the rules of one stream loses that stream: the connection and
// its credit live on.
func TestStreamRuleBreakers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		mux.HandleStream("echo", func(_ context.Context, s *wire.Stream) error {
			_, err := io.Copy(io.Discard, s)
			return err
		})
		mux.HandleStream("stuck", func(ctx context.Context, s *wire.Stream) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p, c := attack(t, &wire.Config{Mux: mux, StreamInitial: 64 << 10, Logger: quiet})
		p.hello(wire.Hello{}, "echo", "stuck")
		p.listen()
		data := frame.Frame{Type: frame.DATA, ID: slotID(1, 1), Body: make([]byte, 40_000)}
		_ = p.send(frame.Frame{Type: frame.OPEN, ID: slotID(1, 1), Kind: 2}, data, data) // over the window
		var code wire.Code
		for _, f := range p.take() {
			if f.Type == frame.RESET {
				code = f.Code
			}
		}
		if code != wire.FlowControl {
			t.Errorf("over the stream's credit: %v", code)
		}
		_ = p.send(frame.Frame{Type: frame.RESET, ID: slotID(1, 1), Code: wire.FlowControl})
		end := frame.Frame{Type: frame.DATA, Flags: frame.FlagEnd, ID: slotID(1, 2)}
		more := frame.Frame{Type: frame.DATA, ID: slotID(1, 2), Body: []byte("more")}
		synctest.Wait()
		_ = p.send(frame.Frame{Type: frame.OPEN, ID: slotID(1, 2), Kind: 2}, end, more) // after END
		code = 0
		for _, f := range p.take() {
			if f.Type == frame.RESET {
				code = f.Code
			}
		}
		if code != wire.StreamClosed {
			t.Errorf("DATA after END: %v", code)
		}
		if err := c.Err(); err != nil {
			t.Error(err)
		}
		conn, _ := c.Limits()
		if has := c.Credits(); has.ConnReceive+has.ConnOwed != conn || c.Live() != 0 {
			t.Errorf("%+v, %d live", has, c.Live())
		}
	})
}

// Not wire at all: one error that says what came instead.
func TestNotWire(t *testing.T) {
	for first, want := range map[string]string{
		"GET / HTTP/1.1\r\n": "GET /", "\x16\x03\x01\x02\x00": "TLS", "\x89WIRE\n\x01": "", frame.Preface[:7] + "\x02": "",
	} {
		bubble(t, func(t *testing.T) {
			p, c := attack(t, &wire.Config{Logger: quiet})
			p.listen()
			_ = p.bytes([]byte(first))
			<-c.Done()
			if err := c.Err(); !errors.Is(err, wire.ErrNotWire) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
				t.Errorf("%q: %v", first, err)
			}
		})
	}
}

// Nothing of a peer is dispatched before Verify has agreed, though it came along
// with HELLO.
func TestNothingBeforeVerify(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		ran := false
		wire.HandlePost(mux, "post", func(context.Context, []byte) error { ran = true; return nil }, wire.Inline())
		p, c := attack(t, &wire.Config{Mux: mux, Logger: quiet, Verify: func(*wire.Conn, *wire.Hello) error {
			return &wire.Error{Code: wire.PermissionDenied}
		}})
		h := wire.Hello{Kinds: map[string]uint32{"post": 1}}
		body, _ := frame.AppendHello(nil, h)
		b := frame.AppendFrame([]byte(frame.Preface), &frame.Frame{Type: frame.HELLO, Body: body})
		b = frame.AppendFrame(b, &frame.Frame{Type: frame.POST, ID: 1, Body: []byte("x")})
		p.listen()
		_ = p.bytes(b)
		p.closedWith(c, wire.PermissionDenied)
		if ran {
			t.Error("a post was handled")
		}
	})
}
