// Package webload runs HTTP servers as processes and loads them with wrk: nginx for
// comparison, and ours. It counts the processor time that the servers take.
package webload

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/internal/peers"
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
	_ Service = (*peers.Stand)(nil)
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

// nginxSettings let nginx serve files as fast as it can, with a worker for each processor.
const nginxSettings = `access_log off; sendfile on; tcp_nopush on; open_file_cache max=16; keepalive_requests 1000000000; keepalive_timeout 75s;`

// StartNginx starts program to serve the files in root. Where it is not installed, the error wraps
// [errors.ErrUnsupported].
func StartNginx(ctx context.Context, program, root string) (*peers.Stand, error) {
	path, err := programs.Find(program)
	if err != nil {
		return nil, err
	}
	return peers.StartNginx(ctx, path, peers.NginxSettings{Workers: "auto", HTTP: nginxSettings, Root: root})
}
