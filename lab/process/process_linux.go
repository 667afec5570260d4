package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// orphaned is the signal by which the kernel tells a child that follows that its parent is gone.
// The services take SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 for their own purposes.
const orphaned = syscall.SIGPWR

// endWithParent has the kernel send a signal to the child when the thread that starts it ends.
func endWithParent(cmd *exec.Cmd, follows bool) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if follows {
		cmd.SysProcAttr.Pdeathsig = orphaned
	}
}

// parentDeath returns a channel that gets the kernel's signal. One more value finds room.
func parentDeath() chan os.Signal {
	c := make(chan os.Signal, 2)
	signal.Notify(c, orphaned)
	return c
}

// Read reads the use of a process.
func Read(pid int) (u Use, err error) {
	if u.CPU, err = CPU(pid); err != nil {
		return u, err
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return u, err
	}
	u.Resident, u.MaxResident = field(status, "VmRSS:")<<10, field(status, "VmHWM:")<<10
	u.Threads = int(field(status, "Threads:"))
	io, _ := os.ReadFile(dir + "io") // of another user's process it is not readable
	u.Written = field(io, "write_bytes:")
	open, err := os.ReadDir(dir + "fd")
	u.Descriptors = len(open)
	return u, err
}

// CPU returns the processor time that a process has used so far, by its clock: see
// clock_getcpuclockid(3).
func CPU(pid int) (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &now); err != nil {
		return 0, fmt.Errorf("the clock of process %d: %w", pid, err)
	}
	return time.Duration(now.Nano()), nil
}

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
