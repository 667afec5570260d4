package machine_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
	"paddock/wire/protocol"
)

// FuzzModel joins two machines and lets both applications do whatever the input
// says, in any order, while the bytes between them arrive in pieces of any size.
// A plain oracle knows what each has done. Held: no side ever finds a fault with
// the other; each byte, post and answer arrives once and in order, or belongs to
// something that one side has given up; and when all is over, no slot is taken
// and every credit is back.
func FuzzModel(f *testing.F) {
	for seed := range uint64(40) {
		script := make([]byte, 3000)
		random := rand.New(rand.NewPCG(seed, 1))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		m := newModel(t, script)
		for len(m.script) > 0 {
			m.act()
		}
		m.finish()
	})
}

// talk is a request or stream in the eyes of the oracle. Side 0 is the dialer.
type talk struct {
	key      uint16
	owner    int
	stream   bool
	id       frame.Slot
	served   bool // its handler has been called
	answered bool // RES has been sent
	answers  int
	done     bool    // its handler has returned
	deaf     [2]bool // that side must hear no more of it
	stopped  [2]bool // that side must get no more bytes
	gaveUp   [2]bool // that side has cancelled, reset or stopped
	halves   [2]half // by the side that sends
}

type half struct {
	sent, got, unread int
	ended, gotEnd     bool
}

// content is the byte at an offset of a half, so that none can be mistaken.
func (k *talk) content(from, offset int) byte {
	return byte(int(k.key)*31 + from*101 + offset*7 + offset>>8)
}

// party is one machine with its application.
type party struct {
	m       *machine.Machine
	in      []byte             // what has arrived
	link    []byte             // what is on its way to the other
	owned   map[frame.Slot]int // by slot, the present talk
	serving map[frame.Slot]int // the same for the other's slots
	posted  uint64             // bodies sent
	numbers uint64             // of those, the ones that are to be acknowledged
	heard   uint64             // bodies received
	pending []int              // payloads whose credit is not given back
	last    uint64             // number to acknowledge
}

type model struct {
	t      *testing.T
	script []byte
	now    time.Duration
	heard  time.Duration // when both sides were last sure to hear of each other
	sides  [2]*party
	talks  []*talk
}

func newModel(t *testing.T, script []byte) *model {
	m := &model{t: t, script: script}
	for side, role := range []frame.Role{frame.Dialer, frame.Acceptor} {
		hello := testHello
		hello.MaxFrame = 16 << 10 << (m.next() % 3)
		hello.StreamInitial = 64 << 10 << (m.next() % 2)
		machine, err := machine.New(role, hello, 0)
		if err != nil {
			t.Fatal(err)
		}
		m.sides[side] = &party{m: machine, owned: map[frame.Slot]int{}, serving: map[frame.Slot]int{}}
		out := takeBytes(machine)
		m.sides[side].link = slices.Clone(out[len(frame.Preface):])
	}
	return m
}

// next takes a number from the script.
func (m *model) next() int {
	if len(m.script) == 0 {
		return 0
	}
	n := m.script[0]
	m.script = m.script[1:]
	return int(n)
}

// act does one thing on one side.
func (m *model) act() {
	op, side := m.next(), m.next()%2
	p := m.sides[side]
	switch op % 16 {
	case 0, 1:
		m.post(p, m.next()*17, op&16 != 0)
	case 2:
		m.request(side, op&16 != 0)
	case 3:
		m.open(side, frame.Flags(op>>4&3), m.next()*3)
	case 4, 5, 6:
		m.write(side, m.pick(), m.next()*150, op&16 != 0 && op&32 != 0)
	case 7:
		m.answer(side, m.pick(), op&16 != 0, op&32 != 0)
	case 8:
		m.giveUp(side, m.pick(), op>>4)
	case 9:
		m.consume(side, m.pick(), m.next()*300)
	case 10:
		m.postsDone(p)
	case 11, 12:
		m.take(side)
	case 13, 14:
		m.carry(side, 1+m.next()*m.next())
	case 15:
		m.pass(p, op)
	}
}

// later lets time pass. Neither side may be silent for so long that the other has
// to give it up: what both have to say is brought across in time, and a PING if it
// is nothing.
func (m *model) later(d time.Duration) {
	const patience = 4 * time.Second // HELLO has 5 s
	if m.now+d-m.heard > patience {
		for side, p := range m.sides {
			p.m.Ping(m.now)
			m.take(side)
			m.carry(side, len(p.link))
		}
		m.heard = m.now
	}
	m.now += d
}

// pass is what happens rarely, or changes little.
func (m *model) pass(p *party, op int) {
	m.later(time.Duration(m.next()) * time.Millisecond)
	switch op >> 4 {
	case 0:
		p.m.Drain(machine.Goaway{}, "")
	case 1, 2:
		p.m.Ping(m.now)
	case 3, 4:
		m.must(errOf(p.m.Bind("also." + string('a'+rune(m.next()%26)))))
	default:
		m.must(errOf(p.m.Tick(m.now)))
	}
}

func errOf[T any](_ T, err error) error { return err }

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// refused says whether an operation was not done, for a reason that may be.
func (m *model) refused(err error) bool {
	m.t.Helper()
	for _, legal := range []error{protocol.ErrNoCredit, protocol.ErrNoSlot, protocol.ErrSlot, protocol.ErrStopped, protocol.ErrDraining, protocol.ErrTooLarge} {
		if errors.Is(err, legal) {
			return true
		}
	}
	m.must(err)
	return false
}

// pick chooses a talk, rather a late one.
func (m *model) pick() *talk {
	if len(m.talks) == 0 {
		return nil
	}
	return m.talks[max(0, len(m.talks)-1-m.next()%12)]
}

func (m *model) post(p *party, n int, ack bool) {
	body := make([]byte, 8+n)
	binary.LittleEndian.PutUint64(body, p.posted+1)
	number, err := p.m.Post(1, body, ack)
	if m.refused(err) {
		return
	}
	p.posted++
	if ack {
		if p.numbers++; number != p.numbers {
			m.t.Fatalf("post has number %d, not %d", number, p.numbers)
		}
	}
}

func (m *model) begin(side int, stream bool) (*talk, []byte) {
	k := &talk{key: uint16(len(m.talks)), owner: side, stream: stream}
	key := binary.LittleEndian.AppendUint16(nil, k.key)
	return k, frame.AppendMeta(nil, &protocol.Meta{Key: key})
}

func (m *model) started(k *talk, id frame.Slot) {
	k.id = id
	m.sides[k.owner].owned[id] = len(m.talks)
	m.talks = append(m.talks, k)
}

func (m *model) request(side int, more bool) {
	k, meta := m.begin(side, false)
	id, err := m.sides[side].m.Request(1, meta, []byte{byte(k.key)}, more)
	if !m.refused(err) {
		k.halves[side].ended = !more
		k.halves[side].gotEnd = !more
		m.started(k, id)
	}
}

func (m *model) open(side int, flags frame.Flags, n int) {
	if flags&frame.FlagConfirm != 0 {
		n = 0
	}
	k, meta := m.begin(side, true)
	id, err := m.sides[side].m.Open(1, flags, 0, meta, k.bytes(side, n))
	if !m.refused(err) {
		k.halves[side].sent = n
		k.halves[side].ended = flags&frame.FlagEnd != 0
		m.started(k, id)
	}
}

// bytes are the next n of what side sends.
func (k *talk) bytes(side, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = k.content(side, k.halves[side].sent+i)
	}
	return b
}

// knows says whether side may do something about k.
func (m *model) knows(side int, k *talk) bool {
	return k != nil && (side == k.owner || k.served && !k.done)
}

// current says whether the slot of k is still k's, as far as side knows.
func (m *model) current(side int, k *talk) bool {
	p := m.sides[side]
	if side == k.owner {
		return p.owned[k.id] == int(k.key)
	}
	return p.serving[k.id] == int(k.key)
}

func (m *model) write(side int, k *talk, n int, end bool) {
	if !m.knows(side, k) || !m.current(side, k) {
		return
	}
	var flags frame.Flags
	if end {
		flags = frame.FlagEnd
	}
	sent, err := m.sides[side].m.Data(k.id, k.bytes(side, n), flags)
	if m.refused(err) {
		return
	}
	h := &k.halves[side]
	h.sent += sent
	h.ended = h.ended || end && sent == n
}

func (m *model) answer(side int, k *talk, more, fail bool) {
	if !m.knows(side, k) || side == k.owner {
		return
	}
	p := m.sides[side]
	if fail {
		if !m.refused(p.m.Fail(k.id, &protocol.Error{Code: protocol.Aborted, Msg: "no"})) {
			k.gaveUp[side], k.deaf[side] = true, true
			k.answered = true
		}
		return
	}
	if m.refused(p.m.Respond(k.id, nil, []byte{byte(k.key), 1}, more)) {
		return
	}
	k.answered = true
	if !more {
		k.deaf[side] = true // of the rest of the request's body
		k.halves[side].ended, k.halves[side].gotEnd = true, true
	}
}

func (m *model) giveUp(side int, k *talk, how int) {
	if !m.knows(side, k) || !m.current(side, k) {
		return
	}
	p := m.sides[side].m
	var err error
	switch how % 4 {
	case 0:
		err = p.Cancel(k.id)
	case 1:
		err = p.Reset(k.id, protocol.Aborted)
	case 2:
		err = p.Stop(k.id, protocol.Aborted)
	case 3:
		if side != k.owner {
			p.Done(k.id)
			k.done, k.deaf[side], k.gaveUp[side] = true, true, true
		}
		return
	}
	if !m.refused(err) {
		k.gaveUp[side], k.stopped[side] = true, true
		k.deaf[side] = k.deaf[side] || how%4 != 2
	}
}

func (m *model) consume(side int, k *talk, n int) {
	if k == nil {
		return
	}
	h := &k.halves[1-side]
	n = min(n, h.unread)
	h.unread -= n
	m.sides[side].m.Consume(k.id, n)
}

func (m *model) postsDone(p *party) {
	if len(p.pending) > 0 {
		p.m.PostsDone(p.pending[0])
		p.pending = p.pending[1:]
	}
	if len(p.pending) == 0 {
		p.m.Acknowledge(p.last)
	}
}

func (m *model) take(side int) {
	p := m.sides[side]
	p.link = append(p.link, takeBytes(p.m)...)
}

// carry brings up to n bytes from side to the other, which deals with them.
func (m *model) carry(side, n int) {
	from, to := m.sides[side], m.sides[1-side]
	n = min(n, len(from.link))
	to.in = append(to.in, from.link[:n]...)
	from.link = from.link[n:]
	to.m.Heard(m.now)
	for {
		var ev machine.Event
		n, err := to.m.Feed(to.in, &ev)
		if err != nil {
			m.t.Fatalf("side %d: %v in %v", 1-side, err, ev.Frame)
		}
		if n == 0 {
			return
		}
		m.event(1-side, &ev)
		to.in = to.in[n:]
	}
}

func (m *model) event(side int, ev *machine.Event) {
	p := m.sides[side]
	switch ev.Op {
	case machine.OpPost:
		m.onPost(p, ev)
	case machine.OpAck:
		if ev.Frame.Count > m.sides[1-side].last {
			m.t.Fatalf("ack of %d, of which %d were handled", ev.Frame.Count, m.sides[1-side].last)
		}
	case machine.OpRequest, machine.OpOpen:
		m.onServe(side, ev)
	case machine.OpResponse, machine.OpData, machine.OpReset, machine.OpStop, machine.OpCancel:
		m.onTalk(side, ev)
	}
}

func (m *model) onPost(p *party, ev *machine.Event) {
	hear := func(body []byte) {
		if p.heard++; binary.LittleEndian.Uint64(body) != p.heard {
			m.t.Fatalf("post %d came as %d", binary.LittleEndian.Uint64(body), p.heard)
		}
	}
	if ev.Frame.Type == frame.POST {
		hear(ev.Frame.Body)
	} else {
		for rest := ev.Frame.Body; len(rest) > 0; {
			var body []byte
			body, rest = frame.CutPost(rest)
			hear(body)
		}
	}
	p.pending = append(p.pending, len(ev.Frame.Body))
	p.last = max(p.last, ev.Last)
}

func (m *model) onServe(side int, ev *machine.Event) {
	key := int(binary.LittleEndian.Uint16(ev.Frame.Meta.Key))
	k := m.talks[key]
	if k.served || k.id != ev.Slot || k.owner == side || k.stream != (ev.Op == machine.OpOpen) {
		m.t.Fatalf("side %d was given %v: %+v", side, ev.Frame, k)
	}
	k.served = true
	m.sides[side].serving[ev.Slot] = key
	if k.stream {
		m.onBytes(side, k, ev)
	}
}

func (m *model) onTalk(side int, ev *machine.Event) {
	p := m.sides[side]
	key, ok := p.owned[ev.Slot]
	if !ok {
		key, ok = p.serving[ev.Slot]
	}
	if !ok {
		m.t.Fatalf("side %d: %v for an unknown slot %v", side, ev.Op, ev.Slot)
	}
	k := m.talks[key]
	if k.deaf[side] && ev.Op != machine.OpStop || k.stopped[side] && ev.Op == machine.OpData {
		m.t.Fatalf("side %d: %v by %v, which it has given up: %+v", side, ev.Op, ev.Frame.Type, k)
	}
	switch ev.Op {
	case machine.OpData:
		m.onBytes(side, k, ev)
	case machine.OpResponse:
		m.onAnswer(side, k, ev)
	default:
		if !k.gaveUp[1-side] {
			m.t.Fatalf("side %d: %v of %v, but the other has not given up: %+v", side, ev.Op, ev.Frame.Type, k)
		}
		k.deaf[side] = k.deaf[side] || ev.Op == machine.OpReset
	}
}

func (m *model) onAnswer(side int, k *talk, ev *machine.Event) {
	if k.answers++; k.answers > 1 || side != k.owner {
		m.t.Fatalf("side %d: answer %d: %+v", side, k.answers, k)
	}
	failed := ev.Frame.Has(frame.FlagErr)
	refused := failed && ev.Frame.NotStarted
	if failed {
		k.deaf[side] = true
		if !k.gaveUp[1-side] && !refused || refused && k.served {
			m.t.Fatalf("side %d: failed without a reason: %+v", side, k)
		}
		k.gaveUp[1-side] = true
		return
	}
	if !k.answered || ev.Frame.Body[0] != byte(k.key) {
		m.t.Fatalf("side %d: the answer of another: %v: %+v", side, ev.Frame, k)
	}
	if !ev.Frame.Has(frame.FlagMore) {
		k.deaf[side] = true
	}
}

func (m *model) onBytes(side int, k *talk, ev *machine.Event) {
	h := &k.halves[1-side]
	for i, c := range ev.Frame.Body {
		if c != k.content(1-side, h.got+i) {
			m.t.Fatalf("side %d: byte %d is wrong: %+v", side, h.got+i, k)
		}
	}
	h.got += len(ev.Frame.Body)
	h.unread += len(ev.Frame.Body)
	if ev.Frame.Has(frame.FlagEnd) {
		if h.gotEnd || !h.ended || h.got != h.sent {
			m.t.Fatalf("side %d: ended at %d: %+v", side, h.got, k)
		}
		h.gotEnd = true
	}
}

// finish lets both applications end all that they have begun, and checks that
// nothing is left.
func (m *model) finish() {
	for range 200 {
		for side := range 2 {
			m.take(side)
			m.carry(side, len(m.sides[side].link))
		}
		for _, k := range m.talks {
			m.finishTalk(k)
		}
		for _, p := range m.sides {
			for len(p.pending) > 0 {
				m.postsDone(p)
			}
		}
	}
	for side, p := range m.sides {
		other := m.sides[1-side]
		if p.m.Live() != 0 {
			m.t.Errorf("side %d: %d slots are live", side, p.m.Live())
		}
		a, b := p.m, other.m
		if a.ConnSend != b.Conn.Receive || a.PostsSend != b.Posts.Receive {
			m.t.Errorf("side %d may send %d and %d, the other expects %+v and %+v", side, a.ConnSend, a.PostsSend, b.Conn, b.Posts)
		}
		if a.Conn.Receive+a.Conn.Owed != int64(testHello.ConnBudget) || a.Posts.Receive+a.Posts.Owed != int64(testHello.PostInitial) {
			m.t.Errorf("side %d has lost credit: %+v, %+v", side, a.Conn, a.Posts)
		}
		if other.heard != p.posted || p.m.Acked != p.numbers {
			m.t.Errorf("side %d: %d of %d posts, %d of %d acknowledged", side, other.heard, p.posted, p.m.Acked, p.numbers)
		}
	}
	for _, k := range m.talks {
		complete := k.halves[0].gotEnd && k.halves[1].gotEnd &&
			k.halves[0].got == k.halves[0].sent && k.halves[1].got == k.halves[1].sent
		if !complete && !k.gaveUp[0] && !k.gaveUp[1] && !(k.answered && !k.stream) {
			m.t.Errorf("not complete, though neither side gave up: %+v", k)
		}
	}
}

// finishTalk takes k a step nearer to its end, which is regular unless a side gave up.
func (m *model) finishTalk(k *talk) {
	server := 1 - k.owner
	for side := range 2 {
		m.consume(side, k, 1<<30)
	}
	if k.served && !k.answered {
		m.answer(server, k, k.stream, false)
	}
	for side := range 2 {
		m.write(side, k, 0, true)
	}
	if k.served && !k.done && (k.gaveUp[0] || k.gaveUp[1]) {
		m.giveUp(server, k, 3)
	}
}
