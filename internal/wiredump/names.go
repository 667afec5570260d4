package wiredump

import (
	"cmp"
	"sync"

	"paddock/internal/wire/frame"
)

// maxNamedSlots bounds the slots of a connection whose kinds are remembered. Frames of further
// slots are shown without the name of a kind.
const maxNamedSlots = 1 << 16

// names holds the names that the frames of a connection have defined for later frames. The readers
// of both directions share it.
type names struct {
	mu    sync.Mutex
	peers [2]peer // by role
	slots map[frame.Slot]named
}

// peer holds the definitions of one side.
type peer struct {
	kinds  map[uint32]string // by its numbers, at most wire.MaxKind
	codecs map[uint32]string // of bodies, where BIND names one
	frame  uint32            // that it accepts; 0: no HELLO seen
}

// named is the last use of a slot.
type named struct {
	generation uint16
	kind       uint32
	by         frame.Role // whose number the kind is
}

// hello reads the payload of a HELLO. The error is a *wire.ProtocolError.
func (n *names) hello(from frame.Role, payload []byte) error {
	h, err := frame.ParseHello(payload)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	p := &n.peers[from]
	p.frame = h.MaxFrame
	for name, number := range h.Kinds {
		p.bind(number, name, "")
	}
	return nil
}

// maxFrame returns the largest frame that a side accepts, as far as is known.
func (n *names) maxFrame(of frame.Role) uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cmp.Or(n.peers[of].frame, frame.MaxPayload)
}

// learn records the definitions in f and returns the kind of f: its number, name and codec, zero
// where unknown.
func (n *names) learn(from frame.Role, f *frame.Frame) (number uint32, name, codec string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	by := from
	switch f.Type {
	case frame.BIND:
		n.peers[from].bind(f.ID, string(f.Text), string(f.Codec))
		number = f.ID
	case frame.POST, frame.POSTS:
		number = f.ID
	case frame.REQ, frame.OPEN:
		number = f.Kind
		n.use(f.Slot(), number, from)
	case frame.RES, frame.DATA, frame.RESET, frame.CREDIT, frame.CANCEL:
		use := n.slots[lane(f.Slot())]
		if use.generation != f.Slot().Generation() {
			return 0, "", ""
		}
		number, by = use.kind, use.by
	}
	p := &n.peers[by]
	return number, p.kinds[number], p.codecs[number]
}

// use records the kind for which a slot was opened.
func (n *names) use(s frame.Slot, kind uint32, by frame.Role) {
	if n.slots == nil {
		n.slots = map[frame.Slot]named{}
	}
	if _, known := n.slots[lane(s)]; known || len(n.slots) < maxNamedSlots {
		n.slots[lane(s)] = named{s.Generation(), kind, by}
	}
}

// lane returns a slot without its generation.
func lane(s frame.Slot) frame.Slot { return frame.MakeSlot(s.Side(), s.Index(), 0) }

func (p *peer) bind(number uint32, name, codec string) {
	if p.kinds == nil {
		p.kinds, p.codecs = map[uint32]string{}, map[uint32]string{}
	}
	p.kinds[number] = name
	if codec != "" {
		p.codecs[number] = codec
	}
}
