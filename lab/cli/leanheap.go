package cli

import (
	"runtime/debug"
	"runtime/metrics"
)

// By how many percent of what is in use the heap grows before it is collected, while load is
// made: little becomes garbage then, but for scripts, which leave some behind each request.
// What a run keeps takes little more memory for it, instead of twice as much.
const (
	leanGC   = 25
	scriptGC = 50
)

// heapRoom is how many bytes it grows in any case. A small heap that is collected every
// megabyte costs more than the room.
const heapRoom = 4 << 20

// leanHeap lets percent count until undo, unless GOGC says otherwise.
func (c *Console) leanHeap(percent int) (undo func()) {
	if c.variable("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(max(percent, int(100*heapRoom/heapInUse())))
	return func() { debug.SetGCPercent(before) }
}

// heapInUse is how many bytes the heap's objects take, with those that are garbage.
func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return max(sample[0].Value.Uint64(), 1<<20)
}
