package machine

import (
	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// form is the use of a slot.
type form uint8

const (
	free form = iota
	request
	stream
)

// slotBits is the state of a live slot. "Ours" is the half that we send, "theirs"
// the one that the peer sends.
type slotBits uint16

const (
	oursOpen    slotBits = 1 << iota // our last frame is not out
	theirsOpen                       // the peer's last frame has not come
	oursBytes                        // our half carries DATA
	theirsBytes                      // theirs does
	begun                            // the first frame of the serving side has passed
	undecided                        // CONFIRM, and RES has not passed
	cancelled                        // CANCEL has passed
	discard                          // later frames are dropped
	stopped                          // our writes fail
	resetSent                        // RESET is out, ours
	listed                           // in Machine.grants
	watched                          // the owner is told when the slot is free
)

// slot is one entry of a table. Invariant: form is free unless a half is open.
type slot struct {
	generation uint16 // last used; 0 before the first use
	form       form
	bits       slotBits
	code       protocol.Code // of the RESET that is owed; 0: none
	put        uint32        // Machine.takes when our last frame went to the output
	send       int64         // bytes that we may still send
	receive    int64         // bytes that the peer may still send
	window     int64         // the first value of receive
	owed       int64         // bytes consumed and not granted again
}

func (s *slot) is(bits slotBits) bool { return s.bits&bits == bits }

func (s *slot) set(bits slotBits) { s.bits |= bits }

func (s *slot) clear(bits slotBits) { s.bits &^= bits }

// carries reports whether the slot is a stream, or a request that was promoted. own means that this
// side has sent the request.
func (s *slot) carries(own bool) bool {
	if s.form == stream {
		return true
	}
	if own {
		return s.is(theirsBytes)
	}
	return s.is(begun | oursBytes)
}

// slotTable holds the slots that one side has allocated: slots[i] has index i+1.
type slotTable struct {
	slots   []slot
	Live    int      // requests and streams
	Streams int      // of those, streams
	spare   []uint32 // free indices; used for our own table alone
}

// found is the state of an id in the table.
type found uint8

const (
	isLive found = iota
	isStale
	isUnknown
)

// find implements the table at the end of SPEC section 3.
func (t *slotTable) find(id frame.Slot) (*slot, found) {
	i := id.Index()
	if i == 0 || int(i) > len(t.slots) {
		return nil, isUnknown
	}
	s := &t.slots[i-1]
	behind := (s.generation - id.Generation()) & frame.GenerationMax
	switch {
	case behind > frame.MaxStale:
		return nil, isUnknown
	case behind > 0 || s.form == free:
		return nil, isStale
	}
	return s, isLive
}

// allocate takes the index that was freed last, or the next one up to limit, and
// begins its next generation.
func (t *slotTable) allocate(limit uint32, f form) (index uint32, s *slot, ok bool) {
	if n := len(t.spare); n > 0 {
		index = t.spare[n-1]
		t.spare = t.spare[:n-1]
	} else if uint32(len(t.slots)) < limit {
		t.slots = append(t.slots, slot{})
		index = uint32(len(t.slots))
	} else {
		return 0, nil, false
	}
	s = &t.slots[index-1]
	t.begin(s, f)
	return index, s, true
}

// begin makes a free slot live, in its next generation.
func (t *slotTable) begin(s *slot, f form) {
	*s = slot{generation: (s.generation + 1) & frame.GenerationMax, form: f, put: s.put}
	t.Live++
	if f == stream {
		t.Streams++
	}
}

// next judges the first frame of a slot that the peer allocates.
func (t *slotTable) next(id frame.Slot, limit, takes uint32) (*slot, frame.Reason) {
	i, n := id.Index(), uint32(len(t.slots))
	switch {
	case i > limit:
		return nil, frame.IndexHigh
	case i > n+1:
		return nil, frame.IndexGap
	case i == n+1:
		if id.Generation() != 1 {
			return nil, frame.NotNext
		}
		t.slots = append(t.slots, slot{})
		return &t.slots[n], ""
	}
	s := &t.slots[i-1]
	switch {
	case s.form != free:
		return nil, frame.SlotLive
	case id.Generation() != (s.generation+1)&frame.GenerationMax:
		return nil, frame.NotNext
	case s.put == takes:
		return nil, frame.NotSentYet
	}
	return s, ""
}

// Watch records that the owner of a local request or stream is to be notified when the slot is
// free: the peer's last frame has arrived and the local one has been sent.
func (m *Machine) Watch(id frame.Slot) {
	if s, own, is := m.find(id); own && is == isLive {
		s.set(watched)
	}
}
