package wire

import (
	"syscall"
	"unsafe"
)

// kernelCorks says that sendMore differs from nowait.Send.
const kernelCorks = true

// msgMore is MSG_MORE, send(2): what is sent may wait for what follows.
const msgMore = 0x8000

// sendMore is nowait.Send for bytes that others follow at once.
func sendMore(fd uintptr, b []byte) (n int, err error) {
	for {
		sent, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			msgMore|syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
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
