//go:build !race

package fence

const Slowdown = 1
