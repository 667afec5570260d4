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

// Processes are the processes of a service; the processor time of their descendants counts too, as
// nginx answers in workers.
type Processes []int

// Usage implements measure.User.
func (p Processes) Usage() (sum measure.Usage, err error) {
	for _, pid := range p.Tree() {
		one, err := measure.ProcessUsage(pid)
		if err != nil {
			return sum, err
		}
		sum.User += one.User
		sum.System += one.System
	}
	return sum, nil
}

// Tree returns the processes and their descendants.
func (p Processes) Tree() (all []int) {
	for _, pid := range p {
		all = append(append(all, pid), children(pid).Tree()...)
	}
	return all
}

// children are the processes that a process has started; none where /proc does not
// say.
func children(pid int) (pids Processes) {
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
