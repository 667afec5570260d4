//go:build !linux

package wire

import (
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

// tune does what it can elsewhere.
func tune(raw syscall.RawConn, _ time.Duration) (tells bool) { return nowait.Tells(raw) }
