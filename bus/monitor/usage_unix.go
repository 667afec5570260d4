//go:build unix

package monitor

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// cpuTime returns the processor time of the process, in and out of the kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident returns the process's memory, from proc(5) where there is one.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	var size, pages int64
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &pages)
	}
	if err != nil {
		return heldByGo()
	}
	return pages * int64(os.Getpagesize())
}
