//go:build !unix

package monitor

import (
	runtimemetrics "runtime/metrics"
	"time"
)

// cpuTime returns the processor time that the Go runtime reports.
func cpuTime() time.Duration {
	s := []runtimemetrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	runtimemetrics.Read(s)
	return time.Duration((s[0].Value.Float64() - s[1].Value.Float64()) * float64(time.Second))
}

func resident() int64 { return heldByGo() }
