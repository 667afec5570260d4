package load

import (
	"runtime"
	"time"
)

// ThreadUse is the activity of one thread of the generator in an interval.
type ThreadUse struct {
	CPU, Wall   time.Duration // its processor time, 0 = not known, of so much time
	Waited      time.Duration // of Wall: it waited for events, for no longer than it meant to
	Spun        time.Duration // of CPU: it asked for events in vain, instead of waiting
	Ready       time.Duration // it could have run, but another did: the kernel's run delay
	Involuntary int64         // times that it was taken off its processor
	Wakes       int64         // returns of the wait for events
	Events      int64         // events that these brought
}

// Busy is for how long the thread was at work. Where its processor time is not known, that
// is for how long it did not wait.
func (u ThreadUse) Busy() time.Duration {
	if u.CPU == 0 {
		return max(u.Wall-u.Waited, 0)
	}
	return max(u.CPU-u.Spun, 0)
}

// Held is for how long the thread neither computed nor waited as it meant to: another had
// its processor, the process was stopped or throttled, or it was woken late. 0 if its
// processor time is not known.
func (u ThreadUse) Held() time.Duration {
	if u.CPU == 0 {
		return 0
	}
	return max(u.Wall-u.CPU-u.Waited, 0)
}

// add adds o, multiplied: another thread's use, or that of the same thread at another time.
func (u *ThreadUse) add(o ThreadUse, times int64) {
	n := time.Duration(times)
	u.CPU += n * o.CPU
	u.Wall += n * o.Wall
	u.Waited += n * o.Waited
	u.Spun += n * o.Spun
	u.Ready += n * o.Ready
	u.Involuntary += times * o.Involuntary
	u.Wakes += times * o.Wakes
	u.Events += times * o.Events
}

// since returns the use since an earlier reading, over the time wall.
func (u ThreadUse) since(before ThreadUse, wall time.Duration) ThreadUse {
	u.add(before, -1)
	u.Wall = wall
	return u
}

// since returns the use since an earlier reading.
func (m MachineUse) since(before MachineUse) MachineUse {
	m.User -= before.User
	m.System -= before.System
	m.Busy -= before.Busy
	m.Idle -= before.Idle
	m.Steal -= before.Steal
	m.GCPause -= before.GCPause
	m.Throttled -= before.Throttled
	return m
}

// gcPause is for how long the collector has stopped the process so far.
func gcPause() time.Duration {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return time.Duration(s.PauseTotalNs)
}
