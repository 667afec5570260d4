package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Read reads what a process uses.
func Read(pid int) (u Use, err error) {
	var now unix.Timespec
	if err := unix.ClockGettime(clock(pid), &now); err != nil {
		return u, fmt.Errorf("the clock of process %d: %w", pid, err)
	}
	u.CPU = time.Duration(now.Nano())
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return u, err
	}
	u.Resident, u.MaxResident = field(status, "VmRSS:")<<10, field(status, "VmHWM:")<<10
	u.Threads = int(field(status, "Threads:"))
	open, err := os.ReadDir(dir + "fd")
	u.Descriptors = len(open)
	return u, err
}

// clock is the id of a process's clock of processor time, as clock_getcpuclockid(3) has it.
func clock(pid int) int32 { return int32(^pid<<3 | 2) }

// field is the number in a line of /proc/PID/status; 0 if there is none.
func field(status []byte, name string) int64 {
	_, after, _ := bytes.Cut(status, []byte("\n"+name))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(words[0]), 10, 64)
	return n
}
