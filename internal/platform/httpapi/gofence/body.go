package gofence

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"paddock/internal/platform/budget"
)

// maxBodies bounds the large bodies of all requests together, in bytes.
const maxBodies = 4 * maxAddBody

// leased writes to a buffer within a lease.
type leased struct {
	dst   *bytes.Buffer
	lease *budget.Lease
}

var errBusy = &refusal{http.StatusServiceUnavailable, "Too many large bodies at once"}

func (w leased) Write(b []byte) (int, error) {
	if !w.lease.Hold(int64(w.dst.Len() + len(b))) {
		return 0, errBusy
	}
	return w.dst.Write(b)
}

// readBody reads a whole body into dst. It takes memory as bytes arrive, not as the client
// announces them. The original answers an incomplete or malformed body like one that is too large.
func readBody(w http.ResponseWriter, r *http.Request, dst *bytes.Buffer, l *budget.Lease, limit int64, line string) error {
	if r.ContentLength > limit {
		return tooLarge(line) // unread: net/http then closes the connection
	}
	var to io.Writer = leased{dst, l}
	if n := r.ContentLength; n >= 0 && n <= budget.Free {
		dst.Grow(int(n) + bytes.MinRead)
		to = dst // reads without an intermediate buffer
	}
	_, err := io.Copy(to, http.MaxBytesReader(w, r.Body, limit))
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Connection", "close") // the rest of the body is unread
		return errBusy
	case err != nil:
		return tooLarge(line)
	}
	return nil
}
