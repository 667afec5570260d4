// Package process is about processes that are measured: how they start and end, and what they
// use of processor time, memory and descriptors.
package process

import "time"

// Use is what a process uses at a moment; CPU is what it has used so far.
type Use struct {
	CPU         time.Duration
	Resident    int64 // bytes
	MaxResident int64 // bytes, at any time so far
	Descriptors int
	Threads     int
}
