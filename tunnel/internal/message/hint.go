package message

import (
	"encoding/binary"
	"time"
)

// HintState is the state of a tunnel that a client reports.
type HintState uint8

// The states.
const (
	HintOpen HintState = iota // it takes visitors: earlier hints hold no longer
	HintFull                  // as much is under way as may be
	HintDown                  // its target takes no connection
	hintStates
)

// Hint reports the state of a tunnel, or of all tunnels of a client: SPEC section 10.
type Hint struct {
	State  HintState
	Tunnel uint16        // its id; 0: all of them
	Span   time.Duration // for how long it holds at most, in whole milliseconds; 0 with HintOpen
}

const (
	// MaxHint is how long a hint holds at most, so that one that is not taken back, as its
	// link was lost or its client has forgotten it, shuts nothing for long.
	MaxHint = 2 * time.Second
	// hintSize is how many bytes each has.
	hintSize = 6
)

// AppendHint appends all of h.
func AppendHint(dst []byte, h Hint) []byte {
	dst = append(dst, Version, byte(h.State))
	dst = binary.LittleEndian.AppendUint16(dst, h.Tunnel)
	return binary.LittleEndian.AppendUint16(dst, uint16(h.Span.Milliseconds()))
}

// ParseHint is the opposite of [AppendHint], for any bytes.
func ParseHint(b []byte) (h Hint, err error) {
	if len(b) != hintSize {
		return h, Malformed("hint of %d bytes", len(b))
	}
	h.State, h.Tunnel = HintState(b[1]), binary.LittleEndian.Uint16(b[2:])
	h.Span = time.Duration(binary.LittleEndian.Uint16(b[4:])) * time.Millisecond
	switch {
	case b[0] != Version:
		return h, Malformed("version %d", b[0])
	case h.State >= hintStates:
		return h, Malformed("state %d", h.State)
	case (h.Span == 0) != (h.State == HintOpen) || h.Span > MaxHint:
		return h, Malformed("hint %d for %v", h.State, h.Span)
	}
	return h, nil
}
