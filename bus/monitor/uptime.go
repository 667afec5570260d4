package monitor

import (
	"fmt"
	"strings"
	"time"
)

// uptime writes d as 1y2d3h4m5s: whole seconds, without the units before the first
// that is not zero. A year has 365 days.
func uptime(d time.Duration) string {
	left := max(int64(d/time.Second), 0)
	var b strings.Builder
	for _, unit := range []struct {
		name    byte
		seconds int64
	}{{'y', 365 * 86400}, {'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}} {
		n := left / unit.seconds
		left %= unit.seconds
		if n > 0 || b.Len() > 0 || unit.name == 's' {
			fmt.Fprintf(&b, "%d%c", n, unit.name)
		}
	}
	return b.String()
}
