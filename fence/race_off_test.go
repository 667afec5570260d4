//go:build !race

package fence_test

const slowdown = 1
