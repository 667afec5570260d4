package monitor

import "runtime"

// heldByGo returns the memory that the Go runtime has from the system, where the system does not
// report resident memory.
func heldByGo() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
