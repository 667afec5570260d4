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

// Tells asks the kernel to report with each Receive from a TCP socket whether more bytes are
// queued. It reports whether the kernel does.
func Tells(raw syscall.RawConn) (tells bool) {
	_ = raw.Control(func(fd uintptr) {
		tells = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpInq, 1) == nil
	})
	return tells
}

// Receiver reads with recvmsg, which can report along with the bytes whether more are queued. It
// serves one reader. The zero value is ready.
type Receiver struct {
	header  syscall.Msghdr
	vector  syscall.Iovec
	control [32]byte
}

// Receive reads into b without blocking. more reports that another call may return something. It is
// false only if tells is set and the kernel reports an empty queue, without the end of the stream.
// wait reports that nothing was received. b is not empty; the error is io.EOF or a syscall.Errno.
func (r *Receiver) Receive(fd uintptr, b []byte, tells bool) (n int, more, wait bool, err error) {
	r.vector.Base = &b[0]
	r.vector.SetLen(len(b))
	r.header = syscall.Msghdr{Iov: &r.vector, Iovlen: 1}
	if tells {
		r.header.Control = &r.control[0]
		r.header.SetControllen(len(r.control))
	}
	for {
		// The raw call does not block, so the scheduler need not know of it.
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

// left returns the number of queued bytes, or 1 for the end of the stream, as reported in
// TCP_CM_INQ. It returns -1 without such a report.
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

// Send writes the bytes that the kernel takes at once. n is 0 if it takes none, or b is empty.
func Send(fd uintptr, b []byte) (n int, err error) { return send(syscall.SYS_WRITE, fd, b, 0) }

// Gathers reports whether SendMore differs from Send.
const Gathers = true

// msgMore is MSG_MORE, send(2): the bytes may wait for the next ones.
const msgMore = 0x8000

// SendMore is Send for bytes that others follow at once.
func SendMore(fd uintptr, b []byte) (n int, err error) {
	return send(syscall.SYS_SENDTO, fd, b, msgMore|syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT)
}

// send repeats the call while it is interrupted. write(2) takes no flags.
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

// Heard reports whether the peer of a socket has sent anything, and whether it has closed its side
// or the connection. It consumes nothing.
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

// Cut reports whether the peer has reset the connection of a socket. Unread bytes do not hide the
// reset. Cut consumes nothing.
func Cut(fd uintptr) bool {
	one := [1]unix.PollFd{{Fd: int32(fd)}}
	for {
		n, err := unix.Poll(one[:], 0)
		if err != unix.EINTR {
			return err == nil && n > 0 && one[0].Revents&unix.POLLERR != 0
		}
	}
}
