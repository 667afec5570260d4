//go:build !unix

package nowait

import (
	"errors"
	"syscall"
)

// On other systems a read or a write of a socket may block. Raw returns nil, so the other functions
// are never called.
const able = false

// Gathers reports whether SendMore differs from Send.
const Gathers = false

// Receiver reads nothing.
type Receiver struct{}

func (*Receiver) Receive(uintptr, []byte, bool) (n int, more, wait bool, err error) {
	return 0, false, false, errors.ErrUnsupported
}

func Tells(syscall.RawConn) (tells bool)          { return false }
func Peek(uintptr, []byte) (n int, ok bool)       { return 0, false }
func Heard(uintptr) (spoken, gone bool)           { return false, false }
func Cut(uintptr) bool                            { return false }
func Send(uintptr, []byte) (n int, err error)     { return 0, errors.ErrUnsupported }
func SendMore(uintptr, []byte) (n int, err error) { return 0, errors.ErrUnsupported }
