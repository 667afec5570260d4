package gofence

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

const (
	// freeBody is what a request may send without asking: small requests get
	// through while large ones have used up the memory.
	freeBody = 64 << 10
	// maxBodies bounds the large bodies of all requests together, in bytes.
	maxBodies = 4 * maxAddBody
)

// bodies is the memory that large bodies take together. Safe for concurrent use.
type bodies struct {
	limit int64
	used  atomic.Int64
}

// lease is the part of it that one request holds.
type lease struct {
	of   *bodies
	held int64
}

func (b *bodies) lease() *lease { return &lease{of: b} }

// hold makes the lease n bytes in all, if there is room.
func (l *lease) hold(n int64) bool {
	more := n - l.held
	if n <= freeBody || more <= 0 {
		return true
	}
	if l.of.used.Add(more) > l.of.limit {
		l.of.used.Add(-more)
		return false
	}
	l.held = n
	return true
}

func (l *lease) release() {
	l.of.used.Add(-l.held)
	l.held = 0
}

// leased fills a buffer as far as the lease goes.
type leased struct {
	dst   *bytes.Buffer
	lease *lease
}

var errBusy = &refusal{http.StatusServiceUnavailable, "Too many large bodies at once"}

func (w leased) Write(b []byte) (int, error) {
	if !w.lease.hold(int64(w.dst.Len() + len(b))) {
		return 0, errBusy
	}
	return w.dst.Write(b)
}

// readBody reads a whole body into dst, taking memory as bytes come and not as
// they are announced. The original answers a body that breaks off, or whose
// chunks are malformed, like one that is too large.
func readBody(w http.ResponseWriter, r *http.Request, dst *bytes.Buffer, l *lease, limit int64, line string) error {
	if r.ContentLength > limit {
		return tooLarge(line) // unread: net/http then closes the connection
	}
	var to io.Writer = leased{dst, l}
	if n := r.ContentLength; n >= 0 && n <= freeBody {
		dst.Grow(int(n) + bytes.MinRead)
		to = dst // which reads without a buffer between
	}
	_, err := io.Copy(to, http.MaxBytesReader(w, r.Body, limit))
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Connection", "close") // with the rest of the body in it
		return errBusy
	case err != nil:
		return tooLarge(line)
	}
	return nil
}
