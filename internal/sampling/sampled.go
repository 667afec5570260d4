//go:build !race && sampled

package sampling

// Slowdown is how many times fewer samples a test draws, for a quick run.
const Slowdown = 6

const race = false
