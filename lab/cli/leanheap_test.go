package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// A small heap has room for 4 MiB, a large one grows by little, and GOGC is obeyed.
func TestLeanHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}

	undo := (&Console{Environ: []string{"GOGC=70"}}).leanHeap(leanGC)
	if p := percent(); p != 100 {
		t.Errorf("GOGC is set, and the heap grows by %d %%", p)
	}
	undo()

	inUse := heapInUse()
	undo = new(Console).leanHeap(leanGC)
	if p := percent(); p < leanGC || uint64(p)*inUse/100 > heapRoom && p != leanGC {
		t.Errorf("a heap of %d KiB grows by %d %%", inUse>>10, p)
	}
	undo()

	large := make([]byte, 64<<20)
	undo = new(Console).leanHeap(leanGC)
	if p := percent(); p != leanGC {
		t.Errorf("a heap of %d MiB grows by %d %%", heapInUse()>>20, p)
	}
	undo()
	runtime.KeepAlive(large)
	if p := percent(); p != 100 {
		t.Errorf("behind it the heap grows by %d %%", p)
	}
}
