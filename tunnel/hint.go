package tunnel

import (
	"encoding/binary"
	"time"
)

// hintState is what a client says of a tunnel.
type hintState uint8

// The states.
const (
	hintOpen hintState = iota // it takes visitors: earlier hints hold no longer
	hintFull                  // as much is under way as may be
	hintDown                  // its target takes no connection
	hintStates
)

// hint is a client's word about a tunnel, or about all that it has: SPEC section 10.
type hint struct {
	state  hintState
	tunnel uint16        // 0: all of them
	span   time.Duration // for how long it holds at most, in whole milliseconds; 0 with hintOpen
}

const (
	// maxHint is how long a hint holds at most, so that one that is not taken back, as its
	// link was lost or its client has forgotten it, shuts nothing for long.
	maxHint = 2 * time.Second
	// hintSize is how many bytes each has.
	hintSize = 6
)

// appendHint appends all of h.
func appendHint(dst []byte, h hint) []byte {
	dst = append(dst, version, byte(h.state))
	dst = binary.LittleEndian.AppendUint16(dst, h.tunnel)
	return binary.LittleEndian.AppendUint16(dst, uint16(h.span.Milliseconds()))
}

// parseHint is the opposite of appendHint, for any bytes.
func parseHint(b []byte) (h hint, err error) {
	if len(b) != hintSize {
		return h, malformed("hint of %d bytes", len(b))
	}
	h.state, h.tunnel = hintState(b[1]), binary.LittleEndian.Uint16(b[2:])
	h.span = time.Duration(binary.LittleEndian.Uint16(b[4:])) * time.Millisecond
	switch {
	case b[0] != version:
		return h, malformed("version %d", b[0])
	case h.state >= hintStates:
		return h, malformed("state %d", h.state)
	case (h.span == 0) != (h.state == hintOpen) || h.span > maxHint:
		return h, malformed("hint %d for %v", h.state, h.span)
	}
	return h, nil
}
