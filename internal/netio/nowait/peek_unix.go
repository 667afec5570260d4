//go:build unix

package nowait

import "syscall"

// Peek looks at what has come without taking it. ok is false if nothing has, not the end
// either; at the end, and after an error, n is 0.
func Peek(fd uintptr, b []byte) (n int, ok bool) {
	for {
		n, _, err := syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK)
		if err != syscall.EINTR {
			return max(n, 0), err != syscall.EAGAIN
		}
	}
}
