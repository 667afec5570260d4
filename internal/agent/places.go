package agent

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	// maxLocalConns is how many connections the endpoint has; further ones wait.
	maxLocalConns = 256
	// maxStreams and maxSlowBodies are how many of them may be held by streams of events,
	// and by requests whose bodies have not come within promptBody. The others are for
	// what is answered at once, such as positions and /healthz.
	maxStreams, maxSlowBodies = 64, 64
	promptBody                = time.Second
	// slowBody is how long a body may take in all.
	slowBody = time.Minute
)

// places are a number of requests of one kind that the endpoint serves at once.
type places struct {
	taken   chan struct{}
	refused atomic.Uint64
}

func newPlaces(n int) *places { return &places{taken: make(chan struct{}, n)} }

// take reports whether there was a place, which give gives back.
func (p *places) take() bool {
	select {
	case p.taken <- struct{}{}:
		return true
	default:
		p.refused.Add(1)
		return false
	}
}

func (p *places) give() { <-p.taken }

// errSlow refuses a body that needs a place among the slow ones.
var errSlow = errors.New("too many bodies come slowly at the moment")

// body is a request's body that takes a place once it has proved slow.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	slow    *places
	began   time.Time
	held    bool
}

// newBody returns the body of r, which is closed by the handler. Bodies of unknown length
// are slow from the beginning: they cannot be read on after a time-out.
func newBody(w http.ResponseWriter, r *http.Request, slow *places) (*body, error) {
	b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), slow: slow, began: time.Now()}
	if r.ContentLength < 0 {
		return b, b.wait()
	}
	return b, b.control.SetReadDeadline(b.began.Add(promptBody))
}

// wait takes a place and gives the body its time.
func (b *body) wait() error {
	if !b.slow.take() {
		return errSlow
	}
	b.held = true
	return b.control.SetReadDeadline(b.began.Add(slowBody))
}

func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if b.held || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if err := b.wait(); err != nil {
		return n, err
	}
	if n > 0 {
		return n, nil
	}
	return b.ReadCloser.Read(p)
}

// done gives the place back, if the body has taken one.
func (b *body) done() {
	if b.held {
		b.slow.give()
	}
}
