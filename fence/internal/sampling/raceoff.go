//go:build !race

// Package sampling scales down tests of geometry under the race detector.
package sampling

// Slowdown is how many times fewer samples a test draws: all of them without the race detector.
const Slowdown = 1
