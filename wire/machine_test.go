package wire_test

import (
	"errors"
	"testing"
	"time"

	"paddock/wire"
)

// pair is two machines whose HELLOs have passed.
func pair(t *testing.T, hello wire.Hello) (dialer, acceptor *wire.Machine) {
	t.Helper()
	var machines [2]*wire.Machine
	var hellos [2][]byte
	for i, role := range []wire.Role{wire.Dialer, wire.Acceptor} {
		m, err := wire.NewMachine(role, hello, 0)
		if err != nil {
			t.Fatal(err)
		}
		machines[i], hellos[i] = m, m.TakeBytes()
	}
	for i, m := range machines {
		var ev wire.Event
		if _, err := m.Feed(hellos[1-i][len(wire.Preface):], &ev); err != nil || ev.Op != wire.OpHello {
			t.Fatal(ev.Op, err)
		}
	}
	return machines[0], machines[1]
}

// move carries what from has to say to the other, and calls f for each event.
func move(t *testing.T, from, to *wire.Machine, spare []byte, f func(*wire.Event)) []byte {
	return moveEvents(t, from, to, spare, new(wire.Event), f)
}

func moveEvents(t *testing.T, from, to *wire.Machine, spare []byte, ev *wire.Event, f func(*wire.Event)) []byte {
	piece, at := from.Take(spare)
	for rest := piece[at:]; len(rest) > 0; {
		n, err := to.Feed(rest, ev)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		f(ev)
		rest = rest[n:]
	}
	if piece == nil {
		return spare
	}
	return piece
}

func TestMachineDoesNotAllocate(t *testing.T) {
	dialer, acceptor := pair(t, wire.Hello{Kinds: map[string]uint32{"k": 1}})
	body := make([]byte, 64)
	there, back := make([]byte, 0, 1<<16), make([]byte, 0, 1<<16)
	stream, err := dialer.Open(1, 0, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(ev *wire.Event) {
		switch ev.Op {
		case wire.OpPost:
			acceptor.PostsDone(len(ev.Frame.Body))
			acceptor.Acknowledge(ev.Last)
		case wire.OpRequest:
			if err := acceptor.Respond(ev.Slot, nil, ev.Frame.Body, false); err != nil {
				t.Error(err)
			}
		case wire.OpData:
			acceptor.Consume(ev.Slot, len(ev.Frame.Body))
		}
	}
	answers := 0
	hear := func(ev *wire.Event) {
		if ev.Op == wire.OpResponse {
			answers++
		}
	}
	meta := wire.AppendMeta(nil, &wire.Meta{HasDeadline: true, Deadline: time.Second})
	var ev wire.Event
	round := func() {
		for range 10 {
			_, err1 := dialer.Post(1, body, true)
			_, err2 := dialer.Request(1, meta, body, false)
			_, err3 := dialer.Data(stream, body, 0)
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Error(err)
			}
		}
		dialer.Ping(0)
		there = moveEvents(t, dialer, acceptor, there, &ev, serve)
		back = moveEvents(t, acceptor, dialer, back, &ev, hear)
	}
	for range 3000 { // through several grants
		round()
	}
	answers = 0
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations for ten posts, requests and writes", n)
	}
	if answers != 10*1001 {
		t.Errorf("%d answers", answers)
	}
}

// TestCreditOfAnEndedStream holds that credit which nobody can use any more is taken
// out of what waits, and leaves nothing to write.
func TestCreditOfAnEndedStream(t *testing.T) {
	dialer, acceptor := pair(t, wire.Hello{Kinds: map[string]uint32{"k": 1}, StreamInitial: 64 << 10})
	stream, err := dialer.Open(1, 0, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := dialer.Data(stream, make([]byte, 16<<10), 0); err != nil {
			t.Fatal(err)
		}
	}
	spare := move(t, dialer, acceptor, nil, func(ev *wire.Event) {
		if ev.Op == wire.OpData {
			acceptor.Consume(ev.Slot, len(ev.Frame.Body))
		}
	})
	if !acceptor.Pending() {
		t.Fatal("no credit is due for three quarters of the window")
	}
	if err := dialer.Reset(stream, wire.Cancelled); err != nil {
		t.Fatal(err)
	}
	failed := false
	move(t, dialer, acceptor, spare, func(ev *wire.Event) { failed = failed || ev.Op == wire.OpReset })
	if !failed || !acceptor.Pending() {
		t.Fatal("the stream has ended:", failed, "its credit still waits:", acceptor.Pending())
	}
	if b := acceptor.TakeBytes(); len(b) > 0 || acceptor.Pending() {
		t.Errorf("for a stream that has ended: %x; more waits: %v", b, acceptor.Pending())
	}
}

// TestPipelining holds that work may ride behind HELLO, up to the allowance.
func TestPipelining(t *testing.T) {
	hello := wire.Hello{Kinds: map[string]uint32{"k": 1}}
	dialer, err := wire.NewMachine(wire.Dialer, hello, 0)
	if err != nil {
		t.Fatal(err)
	}
	acceptor, err := wire.NewMachine(wire.Acceptor, hello, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 64 {
		if _, err := dialer.Request(1, nil, []byte("q"), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dialer.Request(1, nil, nil, false); !errors.Is(err, wire.ErrNoSlot) {
		t.Errorf("the 65th request: %v", err)
	}
	if _, err := dialer.Post(1, make([]byte, 40_000), false); !errors.Is(err, wire.ErrNoCredit) {
		t.Errorf("a post over the allowance: %v", err)
	}
	requests := 0
	opening := dialer.TakeBytes()[len(wire.Preface):]
	for len(opening) > 0 {
		var ev wire.Event
		n, err := acceptor.Feed(opening, &ev)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Op == wire.OpRequest {
			requests++
		}
		opening = opening[n:]
	}
	if requests != 64 {
		t.Errorf("%d requests came", requests)
	}
	var ev wire.Event
	if _, err := dialer.Feed(acceptor.TakeBytes()[len(wire.Preface):], &ev); err != nil {
		t.Fatal(err)
	}
	if _, err := dialer.Request(1, nil, nil, false); err != nil {
		t.Errorf("after HELLO: %v", err)
	}
	if _, err := dialer.Post(1, make([]byte, 70_000), false); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a post over max_frame: %v", err)
	}
}

// TestFirstFrameIsJudgedByItsHeader holds that a peer which is not known yet
// cannot make us keep more than a HELLO.
func TestFirstFrameIsJudgedByItsHeader(t *testing.T) {
	for h, want := range map[wire.Header]string{
		wire.MakeHeader(wire.HELLO, 0, 0, 4096):       "",
		wire.MakeHeader(wire.GOAWAY, 0, 0, 100):       "",
		wire.MakeHeader(wire.POST, 0, 1, 60_000):      "error PROTOCOL not-hello",
		wire.MakeHeader(wire.EXTENSION, 0, 1, 60_000): "error PROTOCOL not-hello",
		wire.MakeHeader(wire.HELLO, 0, 0, 4097):       "error FRAME_SIZE too-long",
	} {
		m, err := wire.NewMachine(wire.Acceptor, wire.Hello{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var ev wire.Event
		n, err := m.Feed(h.Append(nil), &ev)
		if n != 0 || err != nil && failure(t, err) != want || err == nil && want != "" {
			t.Errorf("%v: %d, %v", h, n, err)
		}
	}
}

// TestFeedOfClosed holds that a closed machine does nothing more.
func TestFeedOfClosed(t *testing.T) {
	dialer, _ := pair(t, wire.Hello{Kinds: map[string]uint32{"k": 1}})
	dialer.Close(wire.Unavailable)
	goaway := dialer.TakeBytes()
	var f wire.Frame
	if _, err := wire.Next(goaway, receiverMaxFrame, &f); err != nil || f.Type != wire.GOAWAY || f.Code != wire.Unavailable {
		t.Errorf("%v, %v", &f, err)
	}
	var ev wire.Event
	if n, err := dialer.Feed(goaway, &ev); n != 0 || !errors.Is(err, wire.ErrClosed) {
		t.Errorf("Feed: %d, %v", n, err)
	}
	_, post := dialer.Post(1, nil, false)
	_, request := dialer.Request(1, nil, nil, false)
	_, open := dialer.Open(1, 0, 0, nil, nil)
	_, tick := dialer.Tick(time.Hour)
	for name, err := range map[string]error{"Post": post, "Request": request, "Open": open, "Tick": tick} {
		if !errors.Is(err, wire.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dialer.Pending() {
		t.Error("something waits")
	}
}

// TestGenerationsWrap uses one slot more often than generations can tell apart.
func TestGenerationsWrap(t *testing.T) {
	dialer, acceptor := pair(t, wire.Hello{Kinds: map[string]uint32{"k": 1}})
	var last wire.Slot
	for range 5000 {
		id, err := dialer.Request(1, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		move(t, dialer, acceptor, nil, func(ev *wire.Event) {
			if err := acceptor.Respond(ev.Slot, nil, nil, false); err != nil {
				t.Fatal(err)
			}
		})
		move(t, acceptor, dialer, nil, func(*wire.Event) {})
		last = id
	}
	if last.Index() != 1 || last.Generation() != 5000%4096 {
		t.Errorf("the last slot is %v", last)
	}
}
