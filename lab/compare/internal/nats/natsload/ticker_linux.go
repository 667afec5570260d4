package natsload

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ticker ticks by a timer of the kernel that the runtime's poller waits for: the
// runtime's own timers are late by up to a millisecond when nothing else runs.
type ticker struct{ file *os.File }

// newTicker returns a ticker that Stop ends.
func newTicker(every time.Duration) (*ticker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	spec := unix.NsecToTimespec(int64(every))
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: spec, Value: spec}, nil); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("timerfd_settime", err)
	}
	return &ticker{os.NewFile(uintptr(fd), "timerfd")}, nil
}

// Wait returns at the next tick, or at once if one was missed.
func (t *ticker) Wait() error {
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	return err
}

// Stop ends it.
func (t *ticker) Stop() { t.file.Close() }
