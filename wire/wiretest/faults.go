package wiretest

import (
	"errors"
	"math/rand/v2"
	"time"
)

// ErrInjected is the error of a call that Flow.Fail picks.
var ErrInjected = errors.New("wiretest: injected fault")

// Faults describes the faults of a connection. The zero value has none.
type Faults struct {
	In  Flow // bytes that are read from the connection
	Out Flow // bytes that are written to it

	// Seed makes the sizes of pieces random, from 1 to Chunk, and the same in
	// each run of the same calls. Zero: each piece is as large as Chunk lets it.
	Seed uint64
}

// Flow describes the faults of one direction. Offsets count the bytes of the direction from the
// first one that passed the wrapper.
type Flow struct {
	// Delay is a pause before each Read, or before each piece of a Write.
	Delay time.Duration

	// Chunk is the most bytes that a Read returns, or the most that the
	// underlying connection gets in one Write: a longer Write goes on in pieces.
	// Zero: no limit.
	Chunk int

	// Corrupt is where a byte is changed, by exclusive or with Mask, or with
	// 0xff if Mask is 0.
	Corrupt Offset
	Mask    byte

	// Stall is where the direction stalls by itself, as if by FaultConn.Stall,
	// once. A Read or Write up to there is cut short or split.
	Stall Offset

	// Cut is where the connection is reset, as if by FaultConn.Cut: exactly that
	// many bytes of the direction pass, and nothing more of either.
	Cut Offset

	// Fail is the number of the Read or Write that fails, the first being 1, and
	// all after it fail too. No byte of theirs passes, and the other direction
	// goes on. Zero: none. It counts the caller's calls, not the pieces.
	Fail int

	// Err is its error. Nil: ErrInjected.
	Err error
}

// Offset is a place in the bytes of one direction. Its zero value means nowhere;
// At makes all others.
type Offset int64

// At is the place before which n bytes lie, so At(0) is the first byte.
func At(n int64) Offset { return Offset(n + 1) }

// within returns how many bytes lie before o, counted from offset passed, if
// that is less than n bytes; else n.
func (o Offset) within(passed, n int64) int64 {
	if o <= 0 {
		return n
	}
	return min(n, max(0, int64(o)-1-passed))
}

// reached reports whether o is a place that has nothing before it any more.
func (o Offset) reached(passed int64) bool { return o > 0 && passed >= int64(o)-1 }

// Direction is one direction of a connection, seen from the side that holds it.
type Direction uint8

// In is the direction that the holder reads, Out the one that it writes.
const (
	In Direction = 1 << iota
	Out
	Both = In | Out
)

// side is the state of one direction of a FaultConn.
type side struct {
	Flow
	op    string // of errors: "read" or "write"
	alarm *alarm // over FaultConn.mu

	// Guarded by FaultConn.mu.
	busy     bool // a call has its turn: there is one at a time
	stalled  bool
	deadline instant
	passed   int64

	// Owned by the call that has its turn.
	calls   int
	random  *rand.Rand // nil: pieces of Chunk bytes
	held    []byte     // read from the connection when the direction stalled
	heldErr error
}

// piece returns how many of n bytes pass at once.
func (s *side) piece(n int) int {
	if s.Chunk > 0 {
		limit := s.Chunk
		if s.random != nil {
			limit = 1 + s.random.IntN(s.Chunk)
		}
		n = min(n, limit)
	}
	left := s.Cut.within(s.passed, int64(n))
	return int(s.Stall.within(s.passed, left))
}

// corrupted returns p, which starts at offset passed, with the byte changed that
// is to be changed: in a copy unless p is the caller's to change.
func (s *side) corrupted(p []byte, own bool) []byte {
	at := s.Corrupt.within(s.passed, int64(len(p)))
	if s.Corrupt == 0 || at == int64(len(p)) || s.passed > int64(s.Corrupt)-1 {
		return p
	}
	if !own {
		p = append([]byte(nil), p...)
	}
	mask := s.Mask
	if mask == 0 {
		mask = 0xff
	}
	p[at] ^= mask
	return p
}

// failure counts a call and returns its error, or nil.
func (s *side) failure() error {
	s.calls++
	if s.Fail <= 0 || s.calls < s.Fail {
		return nil
	}
	if s.Err != nil {
		return s.Err
	}
	return ErrInjected
}
