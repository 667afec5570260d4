package script

import (
	"context"
	"fmt"
	"time"
)

// The time that one call of a script may take. A load generator need not defend itself against
// the script of its user: the deadline is there for a script that loops by mistake.
const (
	loadTime    = time.Minute // of the file, of setup, init and done
	requestTime = time.Second // of request, delay and response

	checkEvery = 1024 // steps of the interpreter
)

// deadline ends a call that takes too long. It is the context of the interpreter, which calls
// Done before each of its steps. A context.WithTimeout for each call would cost an allocation
// and a timer for each request.
type deadline struct {
	context.Context
	call  string // that runs
	limit time.Duration
	until time.Time // zero before the first look at the clock
	check int       // steps until the next look
	err   error     // not nil: the call has to end
}

// closed is returned by Done to end a call.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// begin allows a call this much time.
func (d *deadline) begin(call string, limit time.Duration) {
	d.call, d.limit, d.until, d.err = call, limit, time.Time{}, nil
}

// Done implements context.Context.
//
// hot: guarded by BenchmarkRequest.
func (d *deadline) Done() <-chan struct{} {
	if d.check--; d.check > 0 && d.err == nil {
		return nil
	}
	return d.look()
}

// Err implements context.Context.
func (d *deadline) Err() error { return d.err }

// look reads the clock. Once a call has to end, every further step ends it, so that a script
// cannot go on by catching the error.
func (d *deadline) look() <-chan struct{} {
	d.check = checkEvery
	switch now := time.Now(); {
	case d.err != nil:
	case d.until.IsZero():
		d.until = now.Add(d.limit)
	case now.After(d.until):
		d.err = fmt.Errorf("%s takes longer than %v", d.call, d.limit)
	}
	if d.err != nil {
		return closed
	}
	return nil
}
