//go:build !linux

package wire

import (
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

// tune sets no options on other systems.
func tune(raw syscall.RawConn, _ time.Duration) (tells bool) { return nowait.Tells(raw) }
