//go:build !linux

package wire

// kernelCorks says that sendMore differs from sendNow.
const kernelCorks = false

func sendMore(fd uintptr, b []byte) (n int, err error) { return sendNow(fd, b) }
