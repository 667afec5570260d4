//go:build !race

package imports_test

// raced is whether the race detector watches, under which large sets take minutes.
const raced = false
