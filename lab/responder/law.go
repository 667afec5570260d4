package responder

import (
	"fmt"
	"time"
)

// Law says when requests are answered. It is called once for each, in the order in which
// they arrive, from one goroutine: what came before may count.
type Law interface {
	// Due is when a request is answered that arrives at an instant. Both are times
	// since the start of the service.
	Due(arrived time.Duration) time.Duration

	// String is the law as Parse reads it.
	String() string
}

// AtOnce answers without delay.
type AtOnce struct{}

// Due is the arrival.
func (AtOnce) Due(arrived time.Duration) time.Duration { return arrived }

// String is "at once".
func (AtOnce) String() string { return "at once" }

// Delay answers each request after the same time, however many there are.
type Delay time.Duration

// Due is so much later.
func (d Delay) Due(arrived time.Duration) time.Duration { return arrived + time.Duration(d) }

// String is like "delay 5ms".
func (d Delay) String() string { return fmt.Sprintf("delay %v", time.Duration(d)) }
