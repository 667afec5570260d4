package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"time"

	"paddock/lab/process"
)

const (
	// readyWithin is how long a peer may take until it can be asked, on a slow machine.
	readyWithin = 20 * time.Second
	// stopWithin is how long each of its processes may take to end after SIGTERM.
	stopWithin = 15 * time.Second
	// attempts is how often a service is started, as the port that was free may be taken meanwhile.
	attempts = 3
)

// Stand is a service: one or more processes on loopback, with one address. It belongs to one
// goroutine.
type Stand struct {
	Dir string // for its files; Stop removes it

	name     string
	addr     string
	remove   func() error // of Dir
	children []*process.Child
}

// newStand returns a stand without processes. Errors call it name.
func newStand(name string) (s *Stand, err error) {
	s = &Stand{name: name}
	if s.Dir, s.remove, err = process.TempDir("paddock-peer-"); err != nil {
		return nil, err
	}
	if s.addr, err = process.FreeAddress(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Addr returns the address at which the service is asked, host:port.
func (s *Stand) Addr() string { return s.addr }

// Pid returns the id of the process that was started first.
func (s *Stand) Pid() int { return s.children[0].Pid() }

// Pids returns the ids of all processes, in the order of their starts.
func (s *Stand) Pids() (pids []int) {
	for _, child := range s.children {
		pids = append(pids, child.Pid())
	}
	return pids
}

// Process is one of a stand.
type Process struct {
	*exec.Cmd
	Place  func(start func() error) error // nil, or as in process.Options
	Stdout func(line []byte)              // is called with each line that it prints; nil = the end is kept for errors
	Ready  func(context.Context) error    // is called until it succeeds; nil = not
	Within time.Duration                  // bounds the wait for that; 0 = readyWithin
}

// Run starts a process, which ends with this one, and waits until it is ready. A wait ends when any
// process of the stand has ended.
func (s *Stand) Run(ctx context.Context, p Process) error {
	if p.Env == nil {
		p.Env = process.Environment()
	}
	child, err := process.Spawn(s.name, p.Cmd, process.Options{Place: p.Place}, p.Stdout, nil)
	if err != nil {
		return err
	}
	s.children = append(s.children, child)
	if p.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return child.Await(ctx, cmp.Or(p.Within, readyWithin), func(ctx context.Context) error {
		if err := s.failure(); err != nil {
			cancel()
			return err
		}
		return p.Ready(ctx)
	})
}

// failure returns the error of a process that has ended by itself, or nil.
func (s *Stand) failure() error {
	for _, c := range s.children {
		select {
		case <-c.Ended():
			return c.Failure()
		default:
		}
	}
	return nil
}

// Stop ends the processes, the last one first, and removes the directory. It is an error if a
// process had ended by itself, or has to be killed.
func (s *Stand) Stop() (err error) {
	for _, child := range slices.Backward(s.children) {
		err = errors.Join(err, child.Stop(stopWithin))
	}
	return errors.Join(err, s.remove())
}

// Start makes a stand by up, which runs its processes. If one of them ends at once, as it does when
// its port is taken, up gets another stand. Errors call it name.
func Start(ctx context.Context, name string, up func(*Stand) error) (*Stand, error) {
	for n := 1; ; n++ {
		s, err := newStand(name)
		if err != nil {
			return nil, err
		}
		if err = up(s); err == nil {
			return s, nil
		}
		failed := s.failure() != nil // err says it, and Stop would say it again
		if stopped := s.Stop(); !failed {
			return nil, errors.Join(err, stopped)
		}
		if n == attempts || ctx.Err() != nil {
			return nil, err
		}
	}
}

// Answers returns a function for Process.Ready that succeeds when an HTTP service answers a request
// for a path. host, if not "", is the name that is asked for. The status must be one of success,
// unless anyStatus is set.
func Answers(addr, path, host string, anyStatus bool) func(context.Context) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			return err
		}
		r.Host = host
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		if !anyStatus && answer.StatusCode/100 != 2 {
			err = fmt.Errorf("the answer for %s is %s", path, answer.Status)
		}
		return errors.Join(err, answer.Body.Close())
	}
}
