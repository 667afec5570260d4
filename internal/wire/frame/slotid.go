package frame

import "fmt"

// Role is the side of a connection: the dialer or the acceptor. It only decides which ids each
// side allocates.
type Role uint8

// The roles.
const (
	Dialer Role = iota
	Acceptor
)

// String is "dialer" or "acceptor".
func (r Role) String() string {
	if r == Acceptor {
		return "acceptor"
	}
	return "dialer"
}

const (
	indexBits      = 19
	generationBits = 12

	// MaxIndex is the highest index of a slot.
	MaxIndex = 1<<indexBits - 1

	generations   = 1 << generationBits
	MaxStale      = generations/2 - 1 // how far back a generation counts as stale
	ConnectionID  = 0                 // of CREDIT
	PostLaneID    = 1                 // of CREDIT
	sideShift     = 31
	GenerationMax = generations - 1
)

// Slot is the id of a request or stream: the side that allocated it (bit 31), an
// index from 1 (19 bits), a generation (12 bits). Written d7/2 or a7/2.
type Slot uint32

// MakeSlot packs a slot. index is at most MaxIndex; generation counts modulo 4,096.
func MakeSlot(side Role, index uint32, generation uint16) Slot {
	return Slot(uint32(side)<<sideShift | (index&MaxIndex)<<generationBits | uint32(generation)&GenerationMax)
}

// Side returns the side that allocated the slot.
func (s Slot) Side() Role { return Role(s >> sideShift) }

// Index is the slot's place in its side's table, from 1.
func (s Slot) Index() uint32 { return uint32(s) >> generationBits & MaxIndex }

// Generation tells the uses of one index apart.
func (s Slot) Generation() uint16 { return uint16(s & GenerationMax) }

// Valid reports whether the index is not the reserved 0.
func (s Slot) Valid() bool { return s.Index() != 0 }

// String is d7/2: side, index, generation.
func (s Slot) String() string {
	return fmt.Sprintf("%c%d/%d", s.Side().String()[0], s.Index(), s.Generation())
}
