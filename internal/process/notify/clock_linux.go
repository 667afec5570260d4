package notify

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of CLOCK_MONOTONIC, by which the manager tells old reloads from new
// ones.
func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
