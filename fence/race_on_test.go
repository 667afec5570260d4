//go:build race

package fence_test

// slowdown is by how much the race detector slows geometry down: what it looks for does
// not need as many points as the answers do, and runs without it are there for these.
const slowdown = 5
