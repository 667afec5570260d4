//go:build !race && !sampled

package sampling

// Slowdown is how many times fewer samples a test draws: all of them without the race detector, and
// without the tag sampled.
const Slowdown = 1

const race = false
