//go:build unix && !linux

package nowait

import (
	"io"
	"syscall"
)

const able = true

// Tells returns false: only Linux reports whether more bytes are queued.
func Tells(syscall.RawConn) (tells bool) { return false }

// Receiver reads without blocking.
type Receiver struct{}

// Receive reads into b. more reports that another call may return more bytes, wait that nothing was
// received.
func (*Receiver) Receive(fd uintptr, b []byte, _ bool) (n int, more, wait bool, err error) {
	n, err = syscall.Read(int(fd), b)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), b)
	}
	switch {
	case err == syscall.EAGAIN:
		return 0, false, true, nil
	case err != nil:
		return 0, false, false, err
	case n == 0:
		return 0, false, false, io.EOF
	}
	return n, true, false, nil
}

// Peek reads received bytes into b without consuming them; b is not empty. ok is false if nothing
// has arrived, not even the end of the stream. At the end, and after an error, n is 0.
func Peek(fd uintptr, b []byte) (n int, ok bool) {
	for {
		n, _, err := syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK)
		if err != syscall.EINTR {
			return max(n, 0), err != syscall.EAGAIN
		}
	}
}

// Heard reports whether the peer of a socket has sent anything, and whether it has closed its side.
// Unread bytes hide the close here. Heard consumes nothing.
func Heard(fd uintptr) (spoken, gone bool) {
	var b [1]byte
	n, ok := Peek(fd, b[:])
	return ok && n > 0, ok && n == 0
}

// Cut returns false: a reset cannot be seen behind unread bytes here.
func Cut(uintptr) bool { return false }

// Send writes the bytes that the kernel takes at once. n is 0 if it takes none.
func Send(fd uintptr, b []byte) (n int, err error) {
	n, err = syscall.Write(int(fd), b)
	for err == syscall.EINTR {
		n, err = syscall.Write(int(fd), b)
	}
	if err == syscall.EAGAIN {
		return 0, nil
	}
	return max(n, 0), err
}

// Gathers reports whether SendMore differs from Send.
const Gathers = false

// SendMore is Send for bytes that others follow at once.
func SendMore(fd uintptr, b []byte) (n int, err error) { return Send(fd, b) }
