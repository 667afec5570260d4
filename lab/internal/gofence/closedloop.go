package gofence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// ClosedLoop is load without a schedule: each connection sends its next request when
// the answer to the one before has come. The requests go out in turn, whichever
// connection is free, and from the start again after the last.
type ClosedLoop struct {
	Addr     string   // host:port
	Requests [][]byte // rendered by Post and Get; at least one
	Conns    int

	next, done atomic.Int64
}

// Done is how many requests have been answered so far. Safe while Run runs.
func (l *ClosedLoop) Done() int64 { return l.done.Load() }

// Run sends until ctx ends, which is no error. An error of a connection or an answer ends all of
// it.
func (l *ClosedLoop) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var crew sync.WaitGroup
	failures := make([]error, l.Conns)
	for i := range l.Conns {
		crew.Go(func() {
			if failures[i] = l.serve(ctx); failures[i] != nil {
				cancel()
			}
		})
	}
	crew.Wait()
	return errors.Join(failures...)
}

// serve is one connection; it ends with ctx or its first failure.
func (l *ClosedLoop) serve(ctx context.Context) error {
	c, err := Dial(ctx, l.Addr)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	for ctx.Err() == nil {
		request := l.Requests[(l.next.Add(1)-1)%int64(len(l.Requests))]
		if err := c.Exchange(request); err != nil {
			return unlessEnded(ctx, err)
		}
		l.done.Add(1)
	}
	return nil
}

// unlessEnded is the error, unless it comes of ctx's end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
