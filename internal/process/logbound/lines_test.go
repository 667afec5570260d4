package logbound

import (
	"testing"
	"testing/synctest"
	"time"
)

// So many lines pass in a second, and the next one that does tells how many did not.
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
