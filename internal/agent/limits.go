package agent

import (
	"errors"
	"io"
	"net/http"
	"sync"
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
	// slowBody bounds the time of a request until the end of its body.
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

// body is the body of a request. It takes a slot once it has proved slow. There is no deadline for
// that: one that has passed ends the context of the connection, and so its later requests.
type body struct {
	io.ReadCloser
	answer http.ResponseWriter
	slow   *semaphore
	timer  *time.Timer

	mu                  sync.Mutex
	held, refused, over bool
}

// newBody returns the body of r, which the handler closes. The caller calls done.
func newBody(w http.ResponseWriter, r *http.Request, slow *semaphore) *body {
	b := &body{ReadCloser: r.Body, answer: w, slow: slow}
	b.timer = time.AfterFunc(promptBody, b.wait)
	return b
}

// wait takes a slot, or ends the read.
func (b *body) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.over:
	case b.slow.acquire():
		b.held = true
	default:
		b.refused = true
		_ = http.NewResponseController(b.answer).SetReadDeadline(time.Unix(1, 0))
	}
}

func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused {
		b.answer.Header().Set("Connection", "close")
		return n, errSlow
	}
	return n, err
}

// done ends the watch of the body, and releases the slot, if it has taken one.
func (b *body) done() {
	b.timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over = true; b.held {
		b.slow.release()
	}
}
