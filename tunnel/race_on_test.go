//go:build race

package tunnel

// raceEnabled: allocations cannot be counted.
const raceEnabled = true
