//go:build race

package sampling

// Slowdown is how many times fewer samples a test draws. The race detector makes geometry slower,
// and finds races with few points too.
const Slowdown = 6

const race = true
