//go:build !linux

package wire

import (
	"syscall"
	"time"
)

// tune does what it can elsewhere: nothing.
func tune(syscall.RawConn, time.Duration) {}
