//go:build !unix

package wireperf

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
