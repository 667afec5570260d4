package nowait

import "golang.org/x/sys/unix"

// Heard says whether the peer of a socket has said anything, and whether it has gone, or will
// say nothing more. It takes nothing.
func Heard(fd uintptr) (spoken, gone bool) {
	one := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(one[:], 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return false, false
		}
		gone = one[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
		return one[0].Revents&unix.POLLIN != 0, gone
	}
}

// Cut says whether a socket was cut by a reset. It takes nothing, and what has come before
// does not hide it.
func Cut(fd uintptr) bool {
	one := [1]unix.PollFd{{Fd: int32(fd)}}
	for {
		n, err := unix.Poll(one[:], 0)
		if err != unix.EINTR {
			return err == nil && n > 0 && one[0].Revents&unix.POLLERR != 0
		}
	}
}
