package nowait

import (
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const able = true

// tcpInq is TCP_INQ, and TCP_CM_INQ: linux/tcp.h.
const tcpInq = 36

// Tells asks the kernel that each Receive from a TCP socket tells whether more has
// come. It says whether the kernel will.
func Tells(raw syscall.RawConn) (tells bool) {
	_ = raw.Control(func(fd uintptr) {
		tells = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpInq, 1) == nil
	})
	return tells
}

// Receiver reads with recvmsg, which can say along with the bytes whether more
// has come. It serves one reader. The zero value is ready.
type Receiver struct {
	header  syscall.Msghdr
	vector  syscall.Iovec
	control [32]byte
}

// Receive reads what has come into b, without waiting. more says that another read
// would not be in vain, as far as is known: not if tells is set and the kernel says
// that nothing is left, the end of the stream included. wait says that nothing has
// come at all. b is not empty; the error is io.EOF or a syscall.Errno.
func (r *Receiver) Receive(fd uintptr, b []byte, tells bool) (n int, more, wait bool, err error) {
	r.vector.Base = &b[0]
	r.vector.SetLen(len(b))
	r.header = syscall.Msghdr{Iov: &r.vector, Iovlen: 1}
	if tells {
		r.header.Control = &r.control[0]
		r.header.SetControllen(len(r.control))
	}
	for {
		// Raw: it does not wait, so that the scheduler need not know.
		got, _, errno := syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.header)), syscall.MSG_DONTWAIT)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return 0, false, true, nil
		case errno != 0:
			return 0, false, false, errno
		case got == 0:
			return 0, false, false, io.EOF
		}
		return int(got), !tells || r.left() != 0, false, nil
	}
}

// left is how many bytes wait still, or 1 for the end of the stream: what
// TCP_CM_INQ says, or -1 if it says nothing.
func (r *Receiver) left() int32 {
	if int(r.header.Controllen) < syscall.CmsgLen(4) {
		return -1
	}
	c := (*syscall.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if c.Level != syscall.IPPROTO_TCP || c.Type != tcpInq {
		return -1
	}
	return *(*int32)(unsafe.Pointer(&r.control[syscall.CmsgLen(0)]))
}

// Peek reads received bytes into b without consuming them; b is not empty. ok is false if nothing
// has arrived, not even the end of the stream. At the end, and after an error, n is 0.
func Peek(fd uintptr, b []byte) (n int, ok bool) {
	for {
		got, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(got), true
		case syscall.EINTR:
		default:
			return 0, errno != syscall.EAGAIN
		}
	}
}

// Send writes what the kernel takes at once; 0 if it takes nothing, or b is empty.
func Send(fd uintptr, b []byte) (n int, err error) { return send(syscall.SYS_WRITE, fd, b, 0) }

// Gathers says that SendMore differs from Send.
const Gathers = true

// msgMore is MSG_MORE, send(2): what is sent may wait for what follows.
const msgMore = 0x8000

// SendMore is Send for bytes that others follow at once.
func SendMore(fd uintptr, b []byte) (n int, err error) {
	return send(syscall.SYS_SENDTO, fd, b, msgMore|syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT)
}

// send makes the call until it is not interrupted. write(2) knows nothing of flags.
func send(call, fd uintptr, b []byte, flags uintptr) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		sent, _, errno := syscall.RawSyscall6(call, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, 0, 0)
		switch errno {
		case 0:
			return int(sent), nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return 0, errno
		}
	}
}

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
