package machine_test

import (
	"errors"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
	"paddock/wire/protocol"
)

// pair is two machines whose HELLOs have passed.
func pair(t *testing.T, hello protocol.Hello) (dialer, acceptor *machine.Machine) {
	t.Helper()
	var machines [2]*machine.Machine
	var hellos [2][]byte
	for i, role := range []frame.Role{frame.Dialer, frame.Acceptor} {
		m, err := machine.New(role, hello, 0)
		if err != nil {
			t.Fatal(err)
		}
		machines[i], hellos[i] = m, takeBytes(m)
	}
	for i, m := range machines {
		var ev machine.Event
		if _, err := m.Feed(hellos[1-i][len(frame.Preface):], &ev); err != nil || ev.Op != machine.OpHello {
			t.Fatal(ev.Op, err)
		}
	}
	return machines[0], machines[1]
}

// move carries what from has to say to the other, and calls f for each event.
func move(t *testing.T, from, to *machine.Machine, spare []byte, f func(*machine.Event)) []byte {
	return moveEvents(t, from, to, spare, new(machine.Event), f)
}

func moveEvents(t *testing.T, from, to *machine.Machine, spare []byte, ev *machine.Event, f func(*machine.Event)) []byte {
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
	dialer, acceptor := pair(t, protocol.Hello{Kinds: map[string]uint32{"k": 1}})
	body := make([]byte, 64)
	there, back := make([]byte, 0, 1<<16), make([]byte, 0, 1<<16)
	stream, err := dialer.Open(1, 0, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(ev *machine.Event) {
		switch ev.Op {
		case machine.OpPost:
			acceptor.PostsDone(len(ev.Frame.Body))
			acceptor.Acknowledge(ev.Last)
		case machine.OpRequest:
			if err := acceptor.Respond(ev.Slot, nil, ev.Frame.Body, false); err != nil {
				t.Error(err)
			}
		case machine.OpData:
			acceptor.Consume(ev.Slot, len(ev.Frame.Body))
		}
	}
	answers := 0
	hear := func(ev *machine.Event) {
		if ev.Op == machine.OpResponse {
			answers++
		}
	}
	meta := frame.AppendMeta(nil, &protocol.Meta{HasDeadline: true, Deadline: time.Second})
	var ev machine.Event
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

// TestCreditOfAnEndedStream holds that credit of an ended stream is removed from the waiting
// output, and leaves nothing to write.
func TestCreditOfAnEndedStream(t *testing.T) {
	dialer, acceptor := pair(t, protocol.Hello{Kinds: map[string]uint32{"k": 1}, StreamInitial: 64 << 10})
	stream, err := dialer.Open(1, 0, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := dialer.Data(stream, make([]byte, 16<<10), 0); err != nil {
			t.Fatal(err)
		}
	}
	spare := move(t, dialer, acceptor, nil, func(ev *machine.Event) {
		if ev.Op == machine.OpData {
			acceptor.Consume(ev.Slot, len(ev.Frame.Body))
		}
	})
	if !acceptor.Pending() {
		t.Fatal("no credit is due for three quarters of the window")
	}
	if err := dialer.Reset(stream, protocol.Cancelled); err != nil {
		t.Fatal(err)
	}
	failed := false
	move(t, dialer, acceptor, spare, func(ev *machine.Event) { failed = failed || ev.Op == machine.OpReset })
	if !failed || !acceptor.Pending() {
		t.Fatal("the stream has ended:", failed, "its credit still waits:", acceptor.Pending())
	}
	if b := takeBytes(acceptor); len(b) > 0 || acceptor.Pending() {
		t.Errorf("for a stream that has ended: %x; more waits: %v", b, acceptor.Pending())
	}
}

// TestLateGrantsAreNoFlood holds that a peer which grants the bytes of answers that have ended
// meanwhile is not taken for one that does no work.
func TestLateGrantsAreNoFlood(t *testing.T) {
	dialer, acceptor := pair(t, protocol.Hello{Kinds: map[string]uint32{"k": 1}})
	var there, back []byte
	for i := range 2 * machine.MaxUseless {
		id, err := dialer.Request(1, nil, nil, false)
		if err != nil {
			t.Fatal(i, err)
		}
		there = move(t, dialer, acceptor, there, func(*machine.Event) {})
		if err := acceptor.Respond(id, nil, nil, true); err != nil {
			t.Fatal(i, err)
		}
		if _, err := acceptor.Data(id, make([]byte, 100), frame.FlagEnd); err != nil {
			t.Fatal(i, err)
		}
		back = move(t, acceptor, dialer, back, func(*machine.Event) {})
		late := frame.AppendFrame(nil, &frame.Frame{Type: frame.CREDIT, ID: uint32(id), Credit: 2048})
		var ev machine.Event
		if _, err := acceptor.Feed(late, &ev); err != nil || ev.Op != machine.OpNone {
			t.Fatalf("grant %d: %v, %v", i, ev.Op, err)
		}
	}
}

// TestPipelining holds that work may ride behind HELLO, up to the allowance.
func TestPipelining(t *testing.T) {
	hello := protocol.Hello{Kinds: map[string]uint32{"k": 1}}
	dialer, err := machine.New(frame.Dialer, hello, 0)
	if err != nil {
		t.Fatal(err)
	}
	acceptor, err := machine.New(frame.Acceptor, hello, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 64 {
		if _, err := dialer.Request(1, nil, []byte("q"), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dialer.Request(1, nil, nil, false); !errors.Is(err, protocol.ErrNoSlot) {
		t.Errorf("the 65th request: %v", err)
	}
	if _, err := dialer.Post(1, make([]byte, 40_000), false); !errors.Is(err, protocol.ErrNoCredit) {
		t.Errorf("a post over the allowance: %v", err)
	}
	requests := 0
	opening := takeBytes(dialer)[len(frame.Preface):]
	for len(opening) > 0 {
		var ev machine.Event
		n, err := acceptor.Feed(opening, &ev)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Op == machine.OpRequest {
			requests++
		}
		opening = opening[n:]
	}
	if requests != 64 {
		t.Errorf("%d requests came", requests)
	}
	var ev machine.Event
	if _, err := dialer.Feed(takeBytes(acceptor)[len(frame.Preface):], &ev); err != nil {
		t.Fatal(err)
	}
	if _, err := dialer.Request(1, nil, nil, false); err != nil {
		t.Errorf("after HELLO: %v", err)
	}
	if _, err := dialer.Post(1, make([]byte, 70_000), false); !errors.Is(err, protocol.ErrTooLarge) {
		t.Errorf("a post over max_frame: %v", err)
	}
}

// TestFirstFrameIsJudgedByItsHeader holds that a peer which is not known yet
// cannot make us keep more than a HELLO.
func TestFirstFrameIsJudgedByItsHeader(t *testing.T) {
	for h, want := range map[frame.Header]frame.Reason{
		frame.MakeHeader(frame.HELLO, 0, 0, 4096):       "",
		frame.MakeHeader(frame.GOAWAY, 0, 0, 100):       "",
		frame.MakeHeader(frame.POST, 0, 1, 60_000):      frame.NotHello,
		frame.MakeHeader(frame.EXTENSION, 0, 1, 60_000): frame.NotHello,
		frame.MakeHeader(frame.HELLO, 0, 0, 4097):       frame.TooLong,
	} {
		m, err := machine.New(frame.Acceptor, protocol.Hello{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var ev machine.Event
		n, err := m.Feed(h.Append(nil), &ev)
		if n != 0 || !breaks(err, want) {
			t.Errorf("%v: %d, %v", h, n, err)
		}
	}
}

// breaks reports whether err names reason as the broken rule; "" stands for no error.
func breaks(err error, reason frame.Reason) bool {
	var broken *frame.ProtocolError
	if !errors.As(err, &broken) {
		return err == nil && reason == ""
	}
	return broken.Reason == reason
}

// takeBytes is Take without buffers to give back.
func takeBytes(m *machine.Machine) []byte {
	buffer, from := m.Take(nil)
	return buffer[from:]
}

// TestFeedOfClosed holds that a closed machine does nothing more.
func TestFeedOfClosed(t *testing.T) {
	dialer, _ := pair(t, protocol.Hello{Kinds: map[string]uint32{"k": 1}})
	dialer.Close(protocol.Unavailable)
	goaway := takeBytes(dialer)
	var f frame.Frame
	if _, err := frame.Next(goaway, frame.MaxPayload, &f); err != nil || f.Type != frame.GOAWAY || f.Code != protocol.Unavailable {
		t.Errorf("%v, %v", &f, err)
	}
	var ev machine.Event
	if n, err := dialer.Feed(goaway, &ev); n != 0 || !errors.Is(err, protocol.ErrClosed) {
		t.Errorf("Feed: %d, %v", n, err)
	}
	_, post := dialer.Post(1, nil, false)
	_, request := dialer.Request(1, nil, nil, false)
	_, open := dialer.Open(1, 0, 0, nil, nil)
	_, tick := dialer.Tick(time.Hour)
	for name, err := range map[string]error{"Post": post, "Request": request, "Open": open, "Tick": tick} {
		if !errors.Is(err, protocol.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dialer.Pending() {
		t.Error("something waits")
	}
}

// TestGenerationsWrap uses one slot more often than generations can tell apart.
func TestGenerationsWrap(t *testing.T) {
	dialer, acceptor := pair(t, protocol.Hello{Kinds: map[string]uint32{"k": 1}})
	var last frame.Slot
	for range 5000 {
		id, err := dialer.Request(1, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		move(t, dialer, acceptor, nil, func(ev *machine.Event) {
			if err := acceptor.Respond(ev.Slot, nil, nil, false); err != nil {
				t.Fatal(err)
			}
		})
		move(t, acceptor, dialer, nil, func(*machine.Event) {})
		last = id
	}
	if last.Index() != 1 || last.Generation() != 5000%4096 {
		t.Errorf("the last slot is %v", last)
	}
}
