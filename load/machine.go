package load

import (
	"runtime"
	"time"
)

// since is what was done after an earlier reading.
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
