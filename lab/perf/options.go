package perf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Do is the kind of a run.
type Do string

// The runs that there are.
const (
	Post     Do = "post"
	Request  Do = "request"
	StreamTx Do = "streamtx" // messages from the client to the server
	StreamRx Do = "streamrx" // messages from the server to the client
	Verify   Do = "verify"   // everything mixed, and every byte checked
)

var allDo = []Do{Post, Request, StreamTx, StreamRx, Verify}

// Bounds that keep a run from taking the machine down.
const (
	maxConns    = 65_536
	maxRoutines = 65_536
	maxBatch    = 65_536
	maxPayload  = 16 << 20 // bytes
)

// ErrOptions is wrapped by the errors of Options.Check.
var ErrOptions = errors.New("wireperf: options")

// Options describe a run. They are the flags of the original gofast's perf, with its defaults.
type Options struct {
	Do       Do  `json:"do" placeholder:"WHAT" default:"post" complete:"post,request,streamtx,streamrx,verify" help:"What to do: post, request, streamtx, streamrx or verify (default ${default})."`
	Count    int `json:"count" placeholder:"N" default:"1" help:"Operations of each connection, dealt to its routines (default ${default})."`
	Routines int `json:"routines" placeholder:"N" default:"1" help:"Routines of each connection (default ${default})."`
	Conns    int `json:"conns" kong:"-"`
	Batch    int `json:"batchsize" name:"batchsize" placeholder:"N" default:"1" help:"Posts that are handed over at once, at most; nothing waits for a batch to fill (default ${default})."`
	Payload  int `json:"payload" placeholder:"BYTES" default:"512" help:"Size of a body (default ${default})."`
	Stream   int `json:"stream" placeholder:"N" default:"1000000" help:"Messages of each stream (default ${default})."`
	Sample   int `json:"sample" placeholder:"N" default:"1" help:"Time one call in N (default ${default})."`

	Timeout time.Duration `json:"timeout_ns,omitempty" kong:"-"` // of each call of a verifying run; 0: none
}

// DefaultOptions are gofast's.
func DefaultOptions() Options {
	return Options{Do: Post, Count: 1, Routines: 1, Conns: 1, Batch: 1, Payload: 512, Stream: 1_000_000, Sample: 1}
}

// Check returns an error that wraps ErrOptions about the first value that cannot be.
func (o Options) Check() error {
	if !slices.Contains(allDo, o.Do) {
		names := make([]string, len(allDo))
		for i, d := range allDo {
			names[i] = string(d)
		}
		return fmt.Errorf("%w: nothing to do is called %q; there are %s", ErrOptions, o.Do, strings.Join(names, ", "))
	}
	for _, v := range []struct {
		name             string
		value, low, high int
	}{
		{"count", o.Count, 1, min(1<<50, math.MaxInt)},
		{"routines", o.Routines, 1, maxRoutines},
		{"conns", o.Conns, 1, maxConns},
		{"batchsize", o.Batch, 1, maxBatch},
		{"payload", o.Payload, 0, maxPayload},
		{"stream", o.Stream, 1, min(1<<50, math.MaxInt)},
		{"sample", o.Sample, 1, 1 << 30},
	} {
		if v.value < v.low || v.value > v.high {
			return fmt.Errorf("%w: %s is %d; it must be from %d to %d", ErrOptions, v.name, v.value, v.low, v.high)
		}
	}
	if o.Timeout < 0 || o.Timeout > 0 && o.Do != Verify {
		return fmt.Errorf("%w: timeout is %v; only calls of a verifying run have one", ErrOptions, o.Timeout)
	}
	if o.Payload == 0 && (o.Do == StreamTx || o.Do == StreamRx) {
		return fmt.Errorf("%w: a message of a stream has at least one byte of payload", ErrOptions)
	}
	return nil
}

// share is how many of a connection's operations fall to routine r: they are
// dealt round robin, so the first ones get one more.
func (o Options) share(r int) int {
	n := o.Count / o.Routines
	if r < o.Count%o.Routines {
		n++
	}
	return n
}

// working is how many routines of a connection have anything to do.
func (o Options) working() int { return min(o.Count, o.Routines) }

// Total is how many operations a complete run does: posts, requests, messages of
// streams, or, when verifying, calls.
func (o Options) Total() int64 {
	n := int64(o.Count) * int64(o.Conns)
	if o.Do == StreamTx || o.Do == StreamRx {
		n *= int64(o.Stream)
	}
	return n
}

// unit is the name of one operation.
func (o Options) unit() string {
	switch o.Do {
	case Post:
		return "post"
	case Request:
		return "request"
	case StreamTx, StreamRx:
		return "message"
	}
	return "call"
}

// timed describes the interval that is the latency of a run.
func (o Options) timed() string {
	switch o.Do {
	case Post:
		return "from the call of a post until it was queued"
	case Request:
		return "from the call of a request until its answer"
	case StreamTx:
		return "from opening a stream until the server had all of its messages"
	case StreamRx:
		return "from opening a stream until its end had come"
	}
	return "from a call until its outcome"
}
