package track

import (
	"math/bits"

	"paddock/fence"
)

// memberships holds the memberships of all objects of a shard. Those of an object are a list of
// neighbours; the object knows its place and length.
type memberships struct {
	pages [][]packed
	open  int                         // index of the page with room at its end
	used  int                         // of that page
	free  [2 * bits.UintSize][]uint32 // places of lists that are not used any more, by class of room
}

const (
	pageShift   = 8
	pageMembers = 1 << pageShift // of a page; a longer list has one for itself
)

// packed is a membership in 16 bytes.
type packed struct {
	ref   fence.Ref
	told  uint32    // the last bits of the visit's number, see packedVisit
	since [3]uint16 // milliseconds, the highest bits first
	set   uint16    // place in the view of the object's era
}

// A packed membership knows whether it is shown, whether its visit has a number, and the last bits
// of that number. The number is that of an event of the object, so it is the last one with these
// bits, if there were less than a billion events since the object entered.
const (
	packedShown = 1 << iota
	packedNumbered
	packedVisit = 2 // bits before those of the number
)

func (m *membership) packed(place int) packed {
	p := packed{ref: m.ref, set: uint16(place), told: uint32(bit(m.shown()))}
	p.since = [3]uint16{uint16(m.since >> 32), uint16(m.since >> 16), uint16(m.since)}
	if m.visit() != 0 {
		p.told |= packedNumbered | uint32(m.visit())<<packedVisit
	}
	return p
}

// unpack returns the membership of an object that has had this many events.
func (p *packed) unpack(v *View, seq uint64) membership {
	since := int64(int16(p.since[0]))<<32 | int64(p.since[1])<<16 | int64(p.since[2])
	m := membership{set: v.Sets[p.set].ID, ref: p.ref, since: Millis(since)}
	if p.told&packedNumbered == 0 {
		return m.as(0, p.told&packedShown != 0)
	}
	behind := (uint32(seq)<<packedVisit - p.told&^(1<<packedVisit-1)) >> packedVisit
	return m.as(seq-uint64(behind), p.told&packedShown != 0)
}

// list returns the memberships of an object.
func (t *memberships) list(o *object) []packed {
	if o.count == 0 {
		return nil
	}
	page := t.pages[o.place>>pageShift]
	at := o.place & (pageMembers - 1)
	return page[at : at+o.count]
}

// resize returns the list of an object with room for another number of memberships, whose values
// are not those of before.
func (t *memberships) resize(o *object, n int) []packed {
	if room := roomFor(n); room != roomFor(int(o.count)) {
		t.drop(o)
		if n > 0 {
			o.place = t.take(room)
		}
	}
	o.count = uint32(n)
	return t.list(o)
}

// drop takes the memberships of an object away.
func (t *memberships) drop(o *object) {
	room := roomFor(int(o.count))
	switch o.count = 0; {
	case room > pageMembers:
		t.pages[o.place>>pageShift] = nil
		fallthrough
	case room > 0:
		t.free[class(room)] = append(t.free[class(room)], o.place)
	}
}

// take returns the place of a list with this room.
func (t *memberships) take(room int) uint32 {
	free := &t.free[class(room)]
	if n := len(*free); n > 0 {
		place := (*free)[n-1]
		if *free = (*free)[:n-1]; room > pageMembers {
			t.pages[place>>pageShift] = make([]packed, room)
		}
		return place
	}
	if room > pageMembers {
		t.pages = append(t.pages, make([]packed, room))
		return uint32(len(t.pages)-1) << pageShift
	}
	if len(t.pages) == 0 || t.used+room > pageMembers {
		t.open, t.used = len(t.pages), 0
		t.pages = append(t.pages, make([]packed, pageMembers))
	}
	place := uint32(t.open)<<pageShift | uint32(t.used)
	t.used += room
	return place
}

// roomFor returns the room of a list of n memberships: n up to 4, and then the next of 6, 8, 12,
// 16, 24, and so on.
func roomFor(n int) int {
	if n <= 4 {
		return n
	}
	power := 1 << (bits.Len(uint(n-1)) - 1) // below n
	if n <= power+power/2 {
		return power + power/2
	}
	return 2 * power
}

// class numbers the rooms.
func class(room int) int {
	high := bits.Len(uint(room))
	return 2*high + room>>max(high-2, 0)&1
}

// isMember reports whether the object is a member of a fence as it is stored.
func (s *Shard) isMember(o *object, set SetID, ref fence.Ref) bool {
	for _, p := range s.visits.list(o) {
		if p.ref == ref && o.era.view.Sets[p.set].ID == set {
			return true
		}
	}
	return false
}

// membersOf returns the memberships of an object. They are valid until it is called again. Queries
// do without it, as several may run at once.
func (s *Shard) membersOf(o *object) []membership {
	s.was = trim(s.was)[:0]
	for _, p := range s.visits.list(o) {
		s.was = append(s.was, p.unpack(o.era.view, o.seq))
	}
	return s.was
}

// keep stores s.members as the memberships of an object.
func (s *Shard) keep(o *object) {
	list, place := s.visits.resize(o, len(s.members)), 0
	for i := range s.members {
		m := &s.members[i]
		for o.era.view.Sets[place].ID != m.set {
			place++
		}
		list[i] = m.packed(place)
	}
}
