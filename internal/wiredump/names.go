package wiredump

import (
	"sync"

	"paddock/wire"
)

// maxNamedSlots bounds the slots of a connection whose kinds are remembered. Frames of further
// slots are shown without the name of a kind.
const maxNamedSlots = 1 << 16

// names holds the names that the frames of a connection have defined for later frames. The readers
// of both directions share it.
type names struct {
	mu    sync.Mutex
	peers [2]peer // by role
	slots map[wire.Slot]named
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
	by         wire.Role // whose number the kind is
}

// hello reads the payload of a HELLO. The error is a *wire.ProtocolError.
func (n *names) hello(from wire.Role, payload []byte) error {
	h, err := wire.ParseHello(payload)
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
func (n *names) maxFrame(of wire.Role) uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if frame := n.peers[of].frame; frame > 0 {
		return frame
	}
	return wire.MaxPayload
}

// learn records the definitions in f and returns the kind of f: its number, name and codec, zero
// where unknown.
func (n *names) learn(from wire.Role, f *wire.Frame) (number uint32, name, codec string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	by := from
	switch f.Type {
	case wire.BIND:
		n.peers[from].bind(f.ID, string(f.Text), string(f.Codec))
		number = f.ID
	case wire.POST, wire.POSTS:
		number = f.ID
	case wire.REQ, wire.OPEN:
		number = f.Kind
		n.use(f.Slot(), number, from)
	case wire.RES, wire.DATA, wire.RESET, wire.CREDIT, wire.CANCEL:
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
func (n *names) use(s wire.Slot, kind uint32, by wire.Role) {
	if n.slots == nil {
		n.slots = map[wire.Slot]named{}
	}
	if _, known := n.slots[lane(s)]; known || len(n.slots) < maxNamedSlots {
		n.slots[lane(s)] = named{s.Generation(), kind, by}
	}
}

// lane returns a slot without its generation.
func lane(s wire.Slot) wire.Slot { return wire.MakeSlot(s.Side(), s.Index(), 0) }

func (p *peer) bind(number uint32, name, codec string) {
	if p.kinds == nil {
		p.kinds, p.codecs = map[uint32]string{}, map[uint32]string{}
	}
	p.kinds[number] = name
	if codec != "" {
		p.codecs[number] = codec
	}
}
