package load

import (
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of /proc/stat: USER_HZ, which is 100 on every Linux.
const userHZ = 100

// readMachine returns the use of the process and the machine so far.
func readMachine() (m MachineUse) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
		m.User, m.System = time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
		m.MaxResident = int64(u.Maxrss) << 10
	}
	m.Processors = runtime.GOMAXPROCS(0)
	m.GCPause, m.Throttled = gcPause(), throttled()
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(strings.TrimPrefix(line, "cpu")) {
		n, _ := strconv.ParseInt(field, 10, 64)
		d := time.Duration(n) * time.Second / userHZ
		switch i {
		case 3, 4: // idle, waiting for a disk
			m.Idle += d
		case 7:
			m.Steal += d
		case 0, 1, 2, 5, 6: // guests are in user
			m.Busy += d
		}
	}
	return m
}

// throttled is for how long the process's control group, or one that this is in, was held
// by its quota so far.
func throttled() (sum time.Duration) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::") // version 2
		if !ok {
			continue
		}
		for ; group != "/" && group != "."; group = path.Dir(group) {
			sum += throttledIn(path.Join("/sys/fs/cgroup", group))
		}
		sum += throttledIn("/sys/fs/cgroup") // has none, unless it is the container's own
	}
	return sum
}

func throttledIn(group string) time.Duration {
	text, _ := os.ReadFile(path.Join(group, "cpu.stat"))
	for line := range strings.Lines(string(text)) {
		if us, ok := strings.CutPrefix(strings.TrimSpace(line), "throttled_usec "); ok {
			n, _ := strconv.ParseInt(us, 10, 64)
			return time.Duration(n) * time.Microsecond
		}
	}
	return 0
}

// threadUse reads the use of the calling thread, which must be locked to its goroutine.
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
		u.Involuntary = int64(r.Nivcsw)
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
