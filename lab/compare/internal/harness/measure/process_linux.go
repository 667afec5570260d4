package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"paddock/lab/process"
)

// ProcessUsage returns the processor time of another process. The sum of its utime and stime is
// that of its clock, in nanoseconds; their ratio is from /proc/PID/stat, which has steps of 10 ms.
func ProcessUsage(pid int) (Usage, error) {
	total, err := process.CPU(pid)
	if err != nil {
		return Usage{}, err
	}
	user, system, err := processTicks(pid)
	if err != nil {
		return Usage{}, err
	}
	share := 0.0
	if user+system > 0 {
		share = float64(system) / float64(user+system)
	}
	stime := time.Duration(float64(total) * share)
	return Usage{User: total - stime, System: stime}, nil
}

// processTicks returns utime and stime, the fields 14 and 15 of /proc/PID/stat.
func processTicks(pid int) (user, system int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("stat: %q", text)
	}
	if user, err = strconv.ParseInt(fields[11], 10, 64); err != nil {
		return 0, 0, err
	}
	system, err = strconv.ParseInt(fields[12], 10, 64)
	return user, system, err
}
