package logbound

import (
	"testing"
	"testing/synctest"
	"time"
)

// At most PerSecond lines are logged in a second, and the next line reports the number of omitted
// ones.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lines
		for second := range 3 {
			for i := range PerSecond + 7 {
				left, ok := l.Take()
				if ok != (i < PerSecond) {
					t.Fatalf("line %d of second %d: %v", i, second, ok)
				}
				if want := uint64(7); ok && (left == want) != (i == 0 && second > 0) {
					t.Errorf("line %d of second %d: %d were left out", i, second, left)
				}
			}
			time.Sleep(time.Second)
		}
	})
}
