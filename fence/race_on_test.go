//go:build race

package fence

// Slowdown is by how much the race detector slows geometry down: what it looks for does
// not need as many points as the answers do, and runs without it are there for these.
const Slowdown = 5
