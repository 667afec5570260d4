//go:build unix

package perf

import (
	"syscall"
	"time"
)

// cpuTime is the time that all threads of this process have run.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
