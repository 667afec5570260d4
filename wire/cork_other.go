//go:build !linux

package wire

import "paddock/internal/nowait"

// kernelCorks says that sendMore differs from nowait.Send.
const kernelCorks = false

func sendMore(fd uintptr, b []byte) (n int, err error) { return nowait.Send(fd, b) }
