//go:build !linux

package nowait

// Heard says whether the peer of a socket has said anything, and whether it has gone. Here that
// is not seen behind what it has said. It takes nothing.
func Heard(fd uintptr) (spoken, gone bool) {
	var b [1]byte
	n, ok := Peek(fd, b[:])
	return ok && n > 0, ok && n == 0
}

// Cut does not know.
func Cut(uintptr) bool { return false }
