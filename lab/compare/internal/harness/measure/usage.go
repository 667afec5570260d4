package measure

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"paddock/lab/process"
)

// Usage is processor time: of a process so far, or within a window.
type Usage struct {
	User   time.Duration
	System time.Duration
}

// ProcessUsage returns the processor time of a process. The sum of its user and system time is that
// of its clock, in nanoseconds; their ratio is from /proc/PID/stat, which has steps of 10 ms.
func ProcessUsage(pid int) (Usage, error) {
	total, err := process.CPU(pid)
	if err != nil {
		return Usage{}, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := append(strings.Fields(after), make([]string, 13)...)
	user, failed := strconv.ParseInt(fields[11], 10, 64)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(failed, err); err != nil {
		return Usage{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	stime := time.Duration(float64(total) * float64(system) / float64(max(user+system, 1)))
	return Usage{User: total - stime, System: stime}, nil
}

// OwnUsage returns the processor time of this process, over all its threads.
func OwnUsage() (Usage, error) { return ProcessUsage(os.Getpid()) }

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

// MachineUsage returns the processor time of all processes since the machine has started: see
// [process.Processors].
func MachineUsage() (Usage, error) {
	user, system, _, _, err := process.Processors()
	return Usage{User: user, System: system}, err
}
