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
	// maxLocalConns bounds the connections of the endpoint; further ones wait.
	maxLocalConns = 256
	// maxStreams and maxSlowBodies bound the connections with streams of events, and with requests
	// whose bodies take longer than promptBody. The others are free for quick requests, such as
	// positions and /healthz.
	maxStreams, maxSlowBodies = 64, 64
	promptBody                = time.Second
	// slowBody bounds the time of a body.
	slowBody = time.Minute
)

// semaphore bounds the concurrent requests of one kind.
type semaphore struct {
	taken   chan struct{}
	refused atomic.Uint64
}

func newSemaphore(n int) *semaphore { return &semaphore{taken: make(chan struct{}, n)} }

// acquire reports whether there was a free slot. release frees it.
func (p *semaphore) acquire() bool {
	select {
	case p.taken <- struct{}{}:
		return true
	default:
		p.refused.Add(1)
		return false
	}
}

func (p *semaphore) release() { <-p.taken }

// errSlow refuses a slow body when all slots are taken.
var errSlow = errors.New("too many slow bodies at the moment")

// body is the body of a request. It takes a slot once it has proved slow.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	slow    *semaphore
	began   time.Time
	held    bool
}

// newBody returns the body of r, which the handler closes. A body of unknown length counts as slow
// from the beginning, because it cannot be read after a timeout.
func newBody(w http.ResponseWriter, r *http.Request, slow *semaphore) (*body, error) {
	b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), slow: slow, began: time.Now()}
	if r.ContentLength < 0 {
		return b, b.wait()
	}
	return b, b.control.SetReadDeadline(b.began.Add(promptBody))
}

// wait takes a slot and extends the deadline.
func (b *body) wait() error {
	if !b.slow.acquire() {
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

// done releases the slot, if the body has taken one.
func (b *body) done() {
	if b.held {
		b.slow.release()
	}
}
