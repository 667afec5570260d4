// Package sampling scales down long tests.
package sampling

import "testing"

// Sequential skips a test of one goroutine under the race detector, which finds nothing in it and
// makes arithmetic many times slower. A step of make check runs these tests without the detector.
func Sequential(tb testing.TB) {
	tb.Helper()
	if race {
		tb.Skip("runs without the race detector")
	}
}
