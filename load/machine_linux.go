package load

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of /proc/stat: USER_HZ, which is 100 on every Linux.
const userHZ = 100

// readMachine is what the process and the machine have done so far.
func readMachine() (m MachineUse) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
		m.User, m.System = time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
		m.MaxResident = u.Maxrss << 10
	}
	m.Processors = runtime.NumCPU()
	m.GCPause = gcPause()
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(strings.TrimPrefix(line, "cpu")) {
		n, _ := strconv.ParseInt(field, 10, 64)
		d := time.Duration(n) * time.Second / userHZ
		switch i {
		case 3, 4: // idle, waiting for a disk
		case 7:
			m.Steal += d
		case 0, 1, 2, 5, 6: // guests are in user
			m.Busy += d
		}
	}
	return m
}

// threadUse reads what the calling thread has done so far, which must stay on it.
type threadUse struct {
	schedstat *os.File // nil = not to be had
}

func newThreadUse() *threadUse {
	f, _ := os.Open("/proc/thread-self/schedstat")
	return &threadUse{schedstat: f}
}

func (t *threadUse) read() (u ThreadUse) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &r) == nil {
		u.Involuntary = r.Nivcsw
	}
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) == nil {
		u.CPU = time.Duration(ts.Nano())
	}
	if t.schedstat == nil {
		return u
	}
	var buf [96]byte
	n, _ := t.schedstat.ReadAt(buf[:], 0)
	if fields := strings.Fields(string(buf[:n])); len(fields) >= 2 {
		ns, _ := strconv.ParseInt(fields[1], 10, 64)
		u.Ready = time.Duration(ns)
	}
	return u
}

func (t *threadUse) close() {
	if t.schedstat != nil {
		t.schedstat.Close()
	}
}
