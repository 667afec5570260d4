package main

import "runtime/debug"

// By how many percent of what is in use the heap grows before it is collected, while load is
// made: little becomes garbage then, but for scripts, which leave some behind each request.
// What a run keeps takes little more memory for it, instead of twice as much.
const (
	leanGC   = 25
	scriptGC = 50
)

// leanHeap lets percent count until undo, unless GOGC says otherwise.
func leanHeap(environ []string, percent int) (undo func()) {
	if variable(environ, "GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
