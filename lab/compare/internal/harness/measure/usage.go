package measure

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Usage is processor time: of a process so far, or within a window.
type Usage struct {
	User   time.Duration
	System time.Duration
}

// OwnUsage returns the processor time of this process, over all its threads.
func OwnUsage() (Usage, error) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return Usage{}, err
	}
	return Usage{time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())}, nil
}

// Sub returns the difference of two readings.
func (u Usage) Sub(from Usage) Usage { return Usage{u.User - from.User, u.System - from.System} }

// Total returns user and system time together.
func (u Usage) Total() time.Duration { return u.User + u.System }

// User is a process whose processor time can be read.
type User interface {
	// Usage returns the processor time that the process has used.
	Usage() (Usage, error)
}

// Meter reads time and usage of both ends at the borders of a window.
type Meter struct {
	remote         User
	client, server Usage
	machine        *Usage // nil: the machine is not metered
	began          time.Time
}

// StartMeter begins a window; r is the other end.
func StartMeter(r User) (*Meter, error) {
	m := &Meter{remote: r}
	var err error
	if m.server, err = r.Usage(); err != nil {
		return nil, err
	}
	if m.client, err = OwnUsage(); err != nil {
		return nil, err
	}
	m.began = time.Now()
	return m, nil
}

// StartMachineMeter begins a window for which the processor time of the whole machine is read too.
func StartMachineMeter(r User) (*Meter, error) {
	machine, err := MachineUsage()
	if err != nil {
		return nil, err
	}
	m, err := StartMeter(r)
	if err != nil {
		return nil, err
	}
	m.machine = &machine
	return m, nil
}

// Stop ends the window and fills in its measurements.
func (m *Meter) Stop(into *Measurement) error {
	into.Elapsed = time.Since(m.began)
	client, err := OwnUsage()
	if err != nil {
		return err
	}
	server, err := m.remote.Usage()
	if err != nil {
		return err
	}
	into.Client, into.Server = client.Sub(m.client), server.Sub(m.server)
	if m.machine == nil {
		return nil
	}
	machine, err := MachineUsage()
	into.Machine = machine.Sub(*m.machine).Total()
	return err
}

// clockTick is the unit of processor times in /proc, on every Linux that Go
// supports.
const clockTick = 10 * time.Millisecond

// MachineUsage returns the processor time of all processes since the machine has started, in steps
// of 10 ms a processor; interrupts count as system time. On other systems than Linux it is an error
// that wraps [errors.ErrUnsupported].
func MachineUsage() (Usage, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, iowait, irq, softirq int64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &softirq); err != nil {
		return Usage{}, fmt.Errorf("/proc/stat: %w", err)
	}
	return Usage{
		User:   time.Duration(user+nice) * clockTick,
		System: time.Duration(system+irq+softirq) * clockTick,
	}, nil
}
