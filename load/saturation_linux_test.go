package load_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/load"
)

// The verdict of a generator in its own process tells whether it was held up, and the cause. A slow
// service, or a pool that is too small, is not its doing.
//
// The machine may be busy with other work. Where the verdict is to be red, an amber one with the
// right cause is repeated, and is right if it stays so. Where it is to be green, a run that is not
// green for such a reason is repeated. If no run is green, the verdicts were right if the kernel's
// numbers for each of these runs confirm them, and wrong otherwise.
func TestSaturation(t *testing.T) {
	for _, c := range []struct {
		name   string
		law    string // of the service
		order  order
		hinder func(t *testing.T, pid int) (stop func())
		causes []string // one of which is the worst; none = green
		late   load.Cause
	}{
		{name: "healthy", law: "delay 2ms", order: order{PerSecond: 500, Conns: 16}},
		{name: "healthy, closed", law: "delay 2ms", order: order{Conns: 2}},
		{name: "a pool of two", law: "delay 20ms", order: order{PerSecond: 300, Conns: 2}, late: load.ConnWait},
		{name: "a slow service", law: "queue 200/s", order: order{PerSecond: 400, Conns: 16}, late: load.ConnWait},
		{name: "a slow service, closed", law: "queue 200/s", order: order{Conns: 16}},
		{name: "a service that freezes", law: "queue 2000/s frozen 300ms every 500ms", order: order{PerSecond: 200, Conns: 100}},
		{name: "others on its processor", law: "at once", order: order{PerSecond: 5000, Conns: 16, Pin: []int{0}}, hinder: hogs, causes: []string{"run-delay", "held-up", "loop-late", "timer-late", "gc-pause", "thread-busy", "steal"}},
		{name: "stopped half of the time", law: "at once", order: order{PerSecond: 1000, Conns: 16}, hinder: stopping, causes: []string{"held-up", "loop-late", "timer-late", "run-delay", "gc-pause", "thread-busy", "steal"}},
		{name: "stopped half of the time, closed", law: "delay 2ms", order: order{Conns: 2}, hinder: stopping, causes: []string{"held-up", "run-delay", "gc-pause", "thread-busy", "steal"}},
		{name: "a quota", law: "delay 2ms", order: order{PerSecond: 5000, Conns: 64}, hinder: quota, causes: []string{"quota", "held-up", "run-delay", "loop-late", "timer-late", "gc-pause", "thread-busy", "steal"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range mostRuns {
				o := saturate(t, c.law, c.order, c.hinder)
				if c.late != load.OnTime && o.Late[c.late] <= o.Sent/2 {
					t.Errorf("only %d of %d sends were %v", o.Late[c.late], o.Sent, c.late)
				}
				if len(c.causes) > 0 {
					if !slices.Contains(c.causes, o.Verdict.Measures[0].Name) || o.Verdict.Level == load.Green {
						t.Fatalf("%v, want one of %v", &o.Verdict, c.causes)
					}
					if o.Verdict.Level == load.Red {
						return
					}
					t.Logf("beside other work: %v", &o.Verdict) // which makes answers late: this side's part is smaller
					continue
				}
				if o.Verdict.Level == load.Green {
					return
				}
				for _, m := range o.Verdict.Causes() {
					if !slices.Contains(theMachines, m.Name) {
						t.Errorf("%v", &o.Verdict)
					}
				}
				if !o.disturbed() {
					t.Fatalf("%v, but the thread had its processor: %+v, steal %v", &o.Verdict, o.Thread, o.Steal)
				}
				t.Logf("held up by the machine: %v", &o.Verdict)
			}
		})
	}
}

// mostRuns is the most runs for one verdict.
const mostRuns = 3

// disturbed reports whether the thread could not run when it wanted to, for longer than
// any idle machine takes to wake it.
func (o *outcome) disturbed() bool {
	u := &o.Thread
	return o.Steal > 0 || 1000*u.Ready > u.Wall || 200*u.Held() > u.Wall
}

// theMachines are the causes that anything else on the machine may be.
var theMachines = []string{"steal", "run-delay", "held-up", "loop-late", "timer-late", "gc-pause", "thread-busy"} // the world stops only when each thread has run; busy is also what could have run

// saturate makes a run in a process of its own, which is hindered.
func saturate(t *testing.T, law string, o order, hinder func(*testing.T, int) func()) (got outcome) {
	t.Helper()
	o.Address, o.Duration = service(t, law), 700*time.Millisecond
	p := play(t, "generator")
	if hinder != nil {
		defer hinder(t, p.Process.Pid)()
		defer p.end()
	}
	if err := json.NewEncoder(p.in).Encode(o); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(p.out).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

// hogs compute on the generator's processor: enough of them to leave it too little time, although
// the kernel prefers threads that have slept.
func hogs(t *testing.T, _ int) (stop func()) {
	var all []func()
	for range 3 {
		p := play(t, "hog")
		all = append(all, p.end)
		bind(t, p.Process.Pid)
	}
	return func() {
		for _, end := range all {
			end()
		}
	}
}

// bind gives a process the first processor alone.
func bind(t *testing.T, pid int) {
	t.Helper()
	var set unix.CPUSet
	set.Set(0)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks { // threads that come later inherit it
		tid, _ := strconv.Atoi(task.Name())
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Skip("a process cannot be bound to a processor: ", err)
		}
	}
}

// stopping stops and continues the generator in turns of 50 ms.
func stopping(_ *testing.T, pid int) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		turns := time.NewTicker(50 * time.Millisecond)
		defer turns.Stop()
		for signal := syscall.SIGSTOP; ; {
			select {
			case <-end:
				_ = syscall.Kill(pid, syscall.SIGCONT)
				return
			case <-turns.C:
			}
			_ = syscall.Kill(pid, signal)
			signal = syscall.SIGSTOP + syscall.SIGCONT - signal
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// quota lets the generator have a fifth of a processor, by a control group of either
// version.
func quota(t *testing.T, pid int) (stop func()) {
	root, limit, text := "/sys/fs/cgroup", "cpu.max", "10000 50000" // us, of each so many
	if controllers, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers")); !slices.Contains(strings.Fields(string(controllers)), "cpu") {
		root, limit, text = "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000" // of each 100,000 us
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
		t.Skip("no control group can be made: ", err)
	}
	dir := filepath.Join(root, fmt.Sprintf("paddock-load-test-%d", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no control group can be made: ", err)
	}
	for _, f := range []struct{ name, text string }{{limit, text}, {"cgroup.procs", strconv.Itoa(pid)}} {
		err := errors.ErrUnsupported
		if file, opened := os.OpenFile(filepath.Join(dir, f.name), os.O_WRONLY, 0); opened == nil {
			_, err = file.WriteString(f.text)
			file.Close()
		}
		if err != nil {
			removeGroup(t, dir)
			t.Skipf("%s of a control group cannot be set: %v", f.name, err)
		}
	}
	return func() { removeGroup(t, dir) }
}

// removeGroup removes a group. The kernel may still be at work on the last process's end.
func removeGroup(t *testing.T, dir string) {
	for range 1000 {
		if err := os.Remove(dir); err == nil || !errors.Is(err, unix.EBUSY) {
			return
		}
		runtime.Gosched()
	}
	t.Log("the control group is left: ", dir)
}
