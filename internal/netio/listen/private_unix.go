//go:build unix

package listen

import "syscall"

// restrict lets the file of a socket that is not bound yet appear with the mode of private ones.
// Not every system has that: the mode is set behind it too.
func restrict(fd uintptr) { _ = syscall.Fchmod(int(fd), privateMode) }
