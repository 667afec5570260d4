package wire

import (
	"errors"
	"fmt"
)

// Preface is what each side sends first: 0x89, "WIRE", CR, LF, version 1. A
// client of a text protocol, or a transfer that changes line ends, shows in it.
const Preface = "\x89WIRE\r\n\x01"

// ErrNotWire is wrapped by what CheckPreface returns.
var ErrNotWire = errors.New("wire: peer does not speak wire")

// CheckPreface judges the first bytes of a connection, as many as have come: an
// error as soon as one differs. n is the preface's length once it is complete,
// else 0.
func CheckPreface(b []byte) (n int, err error) {
	got := b[:min(len(b), len(Preface))]
	if string(got) != Preface[:len(got)] {
		if got[0] == 0x16 { // a TLS record that carries a handshake
			return 0, fmt.Errorf("%w (TLS client on a plain listener)", ErrNotWire)
		}
		return 0, fmt.Errorf("%w (first bytes %q)", ErrNotWire, got)
	}
	if len(got) < len(Preface) {
		return 0, nil
	}
	return len(Preface), nil
}
