package process_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"paddock/lab/process"
)

// This process is seen to compute, and to hold a descriptor more.
func TestWatch(t *testing.T) {
	if _, err := process.Read(os.Getpid()); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	w := process.NewWatch(os.Getpid())
	before, _ := w.Last()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for began, n := time.Now(), 0; n == 0 || time.Since(began) < time.Millisecond; n++ {
	}
	w.Interval(nil)
	during, _ := w.Last()
	if during[0].CPU <= before[0].CPU || during[0].Descriptors != before[0].Descriptors+1 || during[0].Resident < 1<<20 || during[0].Threads < 1 {
		t.Errorf("%+v, and before %+v", during, before)
	}
	f.Close()
	w.Look()
	if last, most := w.Last(); last[0].Descriptors != before[0].Descriptors || most[0].Descriptors != during[0].Descriptors {
		t.Errorf("%+v, at most %+v", last, most)
	}
}

// A process that is gone is an error for Read, and keeps its last values in a Watch.
func TestGone(t *testing.T) {
	const nobody = 1 << 22 // beyond pid_max
	if _, err := process.Read(nobody); err == nil {
		t.Error("a process that is not there is read")
	}
	if last, _ := process.NewWatch(nobody).Last(); last[0] != (process.Use{}) {
		t.Errorf("%+v", last)
	}
}
