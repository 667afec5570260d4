package harness

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Placement is where the two processes of a measurement run: the processors that
// each may use.
type Placement struct {
	client, server, before unix.CPUSet
}

// place chooses the first processors on which this process may run.
func place(pin Pin) (*Placement, error) {
	p := &Placement{}
	if err := unix.SchedGetaffinity(0, &p.before); err != nil {
		return nil, err
	}
	var found []int
	for cpu := 0; len(found) < p.before.Count(); cpu++ {
		if p.before.IsSet(cpu) {
			found = append(found, cpu)
		}
	}
	client, server := 0, 1
	switch pin {
	case Together:
		server = 0
	case Crossed:
		client, server = 1, 0
	case Apart:
	default:
		return nil, fmt.Errorf("no placement %q: there are %s, %s and %s", pin, Apart, Together, Crossed)
	}
	if max(client, server) >= len(found) {
		return nil, fmt.Errorf("there is one processor: %w", errors.ErrUnsupported)
	}
	p.client.Set(found[client])
	p.server.Set(found[server])
	return p, nil
}

// bind binds every thread of this process, and those to come, until undo.
func (p *Placement) bind() (undo func() error, err error) {
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

// Start calls start with this thread on the server's processor, which the process
// that it starts inherits. A nil placement leaves it to the kernel.
func (p *Placement) Start(start func() error) error {
	if p == nil {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &p.server); err != nil {
		return err
	}
	return errors.Join(start(), unix.SchedSetaffinity(0, &p.client))
}
