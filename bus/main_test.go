package bus_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if servesBenchmark() {
		return
	}
	goleak.VerifyTestMain(m)
}
