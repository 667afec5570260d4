package perf

import (
	"runtime/metrics"
	"time"
)

// Usage is the use of a process since it started.
type Usage struct {
	CPU    time.Duration `json:"cpu_ns"` // user and system time of all threads
	Allocs uint64        `json:"allocs"` // objects of Go's heap
}

// usage asks the kernel and the runtime. The runtime counts the tiny objects that
// it packs together apart from the others.
func usage() Usage {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(s)
	return Usage{CPU: cpuTime(), Allocs: s[0].Value.Uint64() + s[1].Value.Uint64()}
}

func (u Usage) since(before Usage) Usage {
	return Usage{CPU: u.CPU - before.CPU, Allocs: u.Allocs - before.Allocs}
}
