//go:build race

package server

// raceEnabled: allocations cannot be counted.
const raceEnabled = true

// crowd is how many clients a test in fake time has: the race detector's work grows with
// the square of them.
const crowd = 10
