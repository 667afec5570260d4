// Package webload runs HTTP servers as processes and loads them with wrk: nginx for
// comparison, and ours. It counts the processor time that the servers take.
package webload

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/process"
)

// Service is a server's process.
type Service interface {
	Addr() string
	Pid() int
	Stop() error
}

var (
	_ Service = (*process.Server)(nil)
	_ Service = (*Nginx)(nil)
)

// used is the processor time of a service's process and its children: nginx answers in workers.
type used struct{ Service }

// Usage implements measure.User.
func (u used) Usage() (sum measure.Usage, err error) {
	return Usage(u.Pid())
}

// Usage returns the processor time of processes and their descendants.
func Usage(pids ...int) (sum measure.Usage, err error) {
	for _, pid := range Tree(pids...) {
		one, err := measure.ProcessUsage(pid)
		if err != nil {
			return sum, err
		}
		sum.User += one.User
		sum.System += one.System
	}
	return sum, nil
}

// Tree returns processes and their descendants.
func Tree(pids ...int) (all []int) {
	for _, pid := range pids {
		all = append(append(all, pid), Tree(children(pid)...)...)
	}
	return all
}

// Window reads the processor times of a service, of this process and of the machine at
// its borders.
type Window struct {
	meter   *measure.Meter
	machine measure.Usage
}

// OpenWindow reads them for the first time.
func OpenWindow(s Service) (*Window, error) {
	machine, err := measure.MachineUsage()
	if err != nil {
		return nil, err
	}
	meter, err := measure.StartMeter(used{s})
	return &Window{meter, machine}, err
}

// Close returns the measurements of the window.
func (w *Window) Close() (*measure.Measurement, error) {
	m := &measure.Measurement{}
	if err := w.meter.Stop(m); err != nil {
		return nil, err
	}
	machine, err := measure.MachineUsage()
	m.Machine = machine.Sub(w.machine).Total()
	return m, err
}

// children are the processes that a process has started; none where /proc does not
// say.
func children(pid int) (pids []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// StaticBytes is the size of the file of the original benchmarks.
const StaticBytes = 3_500

// WriteStatic writes a file of so many bytes that any server may show.
func WriteStatic(root, name string, size int) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	path := filepath.Join(root, name)
	if err := os.WriteFile(path, bytes.Repeat([]byte("static, "), size/8+1)[:size], 0o644); err != nil {
		return err
	}
	settled := time.Now().Add(-time.Hour) // servers look at files that have just been written more often
	return os.Chtimes(path, settled, settled)
}
