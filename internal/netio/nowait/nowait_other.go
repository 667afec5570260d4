//go:build !unix

package nowait

import (
	"errors"
	"syscall"
)

// Elsewhere a read or a write of a socket may wait: Raw gives nothing, and nobody
// comes to call the rest.
const able = false

// Tells says that the kernel will not tell.
func Tells(syscall.RawConn) (tells bool) { return false }

// Receiver reads nothing.
type Receiver struct{}

// Receive is not there.
func (*Receiver) Receive(uintptr, []byte, bool) (n int, more, wait bool, err error) {
	return 0, false, false, errors.ErrUnsupported
}

// Silent does not know.
func Silent(uintptr) bool { return true }

// Send is not there.
func Send(uintptr, []byte) (n int, err error) { return 0, errors.ErrUnsupported }

// Gathers says that SendMore differs from Send.
const Gathers = false

// SendMore is not there.
func SendMore(uintptr, []byte) (n int, err error) { return 0, errors.ErrUnsupported }

// Peek sees nothing.
func Peek(uintptr, []byte) (n int, ok bool) { return 0, true }
