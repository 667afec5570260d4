package harness

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// placement is where the two processes of a measurement run: the processors that
// each may use.
type placement struct {
	client, server, before unix.CPUSet
}

// place chooses the first processors on which this process may run.
func place(pin Pin) (*placement, error) {
	p := &placement{}
	if err := unix.SchedGetaffinity(0, &p.before); err != nil {
		return nil, err
	}
	var found []int
	for cpu := 0; len(found) < p.before.Count(); cpu++ {
		if p.before.IsSet(cpu) {
			found = append(found, cpu)
		}
	}
	p.client.Set(found[0])
	switch {
	case pin == Together:
		p.server.Set(found[0])
	case pin != Apart:
		return nil, fmt.Errorf("no placement %q: there are %s and %s", pin, Apart, Together)
	case len(found) < 2:
		return nil, fmt.Errorf("there is one processor: %w", errors.ErrUnsupported)
	default:
		p.server.Set(found[1])
	}
	return p, nil
}

// bind binds every thread of this process, and those to come, until undo.
func (p *placement) bind() (undo func() error, err error) {
	procs := runtime.GOMAXPROCS(1)
	undo = func() error {
		runtime.GOMAXPROCS(procs)
		return bindThreads(&p.before)
	}
	if err := bindThreads(&p.client); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

func bindThreads(to *unix.CPUSet) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, to); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return err
		}
	}
	return nil
}

// start calls start with this thread on the server's processor, which the process
// that it starts inherits.
func (p *placement) start(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &p.server); err != nil {
		return err
	}
	return errors.Join(start(), unix.SchedSetaffinity(0, &p.client))
}
