// Package busdiff plays the same bytes to package bus and to nats-server, and compares the answers.
//
// # Model
//
// A [Script] holds the bytes that one to three connections send to a server of one [Setting]:
// writes, in a defined order, and syncs. A sync sends PING and reads until all PONGs that are due
// have come or the server has closed: bytes that other connections send after it find the effect of
// everything before it. So the answer of each connection depends on the script alone, except where
// the protocol leaves it open. At the end every connection closes its sending side, one after the
// other, and reads to the end of input: nothing waits for a time to pass, unless a sync has gone
// into an operation that is not complete.
//
// The answers are cut into frames and normalised: identities and addresses leave
// INFO; copies of one message for several subscriptions of one connection are
// sorted, since their order is free; messages for members of queues are compared
// over all connections together, since the choice is free. Then both must be
// equal, and the reasons for which the servers closed the connections too.
//
// The reference's answer sometimes depends on how its reads cut the bytes. When the two differ, it
// is asked again, with the bytes cut in other ways; an answer that it gives to any of them is good.
// Any other difference must match an entry of explained.txt, which gives the reason, or is reported
// with the smallest script that still shows it.
package busdiff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options select the scripts for [Run].
type Options struct {
	Seed     uint64
	First    uint64 // the number of the first script
	Scripts  uint64
	Workers  int           // 0 = 4
	MaxFound int           // it stops after so many differences; 0 = 10
	Progress time.Duration // how often a line says how far it is; 0 = never
}

const (
	defaultWorkers  = 4
	defaultMaxFound = 10
)

// Result counts the results of the scripts.
type Result struct {
	Played, Same, CutBound uint64
	Waited                 uint64 // scripts in which a sync waited in vain
	Explained              map[string]uint64
	Once                   uint64 // scripts that differed, but not when they were played again
	Differ                 uint64
	Took                   time.Duration
}

func (r *Result) String() string {
	text := fmt.Sprintf("%d scripts in %v (%.0f/s): %d the same, %d where nats-server's answer depends on how its reads cut the bytes, %d unexplained (and %d once only; %d waited for a PONG in vain)",
		r.Played, r.Took.Round(time.Millisecond), float64(r.Played)/r.Took.Seconds(), r.Same, r.CutBound, r.Differ, r.Once, r.Waited)
	for _, name := range slices.Sorted(maps.Keys(r.Explained)) {
		text += fmt.Sprintf("\n  %d explained: %s", r.Explained[name], name)
	}
	return text
}

// ErrDiffers says that there were differences without explanation.
var ErrDiffers = errors.New("busdiff: the answers differ")

// Run plays generated scripts, and writes to w each that shows a difference, made
// as small as it gets.
func Run(ctx context.Context, o Options, w io.Writer) (*Result, error) {
	run := &run{Options: o, w: w, settings: Settings(), result: Result{Explained: make(map[string]uint64)}}
	run.Workers, run.MaxFound = cmpOr(o.Workers, defaultWorkers), cmpOr(o.MaxFound, defaultMaxFound)
	start := time.Now()
	run.next.Store(o.First)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range run.Workers {
		workers.Go(func() {
			if err := run.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	stop := run.report(ctx, start)
	workers.Wait()
	stop()
	run.result.Took = time.Since(start)
	err := context.Cause(ctx)
	if err == nil && run.result.Differ > 0 {
		err = ErrDiffers
	}
	return &run.result, err
}

func cmpOr(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

type run struct {
	Options
	settings []Setting
	next     atomic.Uint64

	mu     sync.Mutex // guards the following fields
	w      io.Writer
	result Result
}

// work plays scripts until none is left or enough differ.
func (r *run) work(ctx context.Context) error {
	rig, err := newRig(r.settings)
	if err != nil {
		return err
	}
	defer rig.stop()
	for ctx.Err() == nil && !r.enough() {
		number := r.next.Add(1) - 1
		if number >= r.First+r.Scripts {
			return nil
		}
		s := Generate(r.Seed, number, r.settings)
		v, err := rig.confirmed(&s)
		if err != nil {
			return fmt.Errorf("script %d: %w\n%s", number, err, &s)
		}
		switch r.count(&v); v.kind {
		case differs:
			r.show(number, rig, s)
		case once:
			r.tell(number, &s, v.diff, "seen once")
		}
	}
	return nil
}

func (r *run) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result.Differ >= uint64(r.MaxFound)
}

func (r *run) count(v *verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Played++
	if v.waited {
		r.result.Waited++
	}
	switch v.kind {
	case same:
		r.result.Same++
	case cutBound:
		r.result.CutBound++
	case known:
		r.result.Explained[v.name]++
	case once:
		r.result.Once++
	case differs:
		r.result.Differ++
	}
}

func (r *run) show(number uint64, rig *rig, s Script) {
	var last verdict
	rig.hasty = true
	defer func() { rig.hasty = false }()
	small := minimise(s, func(candidate *Script) bool {
		v, err := rig.check(candidate)
		if err != nil || v.kind != differs {
			return false
		}
		last = v
		return true
	})
	if last.diff == nil {
		r.tell(number, &s, nil, "not seen again")
		return
	}
	r.tell(number, &small, last.diff, "differs")
}

func (r *run) tell(number uint64, s *Script, d *difference, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.w, "# seed %d, script %d, %s: %v\n%s\n", r.Seed, number, what, d, s)
}

// report writes a line now and then until the returned function is called.
func (r *run) report(ctx context.Context, start time.Time) (stop func()) {
	if r.Progress == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	reporter.Go(func() {
		ticker := time.NewTicker(r.Progress)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.mu.Lock()
				r.result.Took = time.Since(start)
				fmt.Fprintf(r.w, "# %v\n", &r.result)
				r.mu.Unlock()
			}
		}
	})
	return func() {
		cancel()
		reporter.Wait()
	}
}
