package plainhttp

import (
	"bytes"
	"sync/atomic"
	"time"
)

const (
	// maxRequest bounds a plain request, head and body, in bytes.
	maxRequest = 16 << 10
	// maxHead bounds its head.
	maxHead = 8 << 10
)

// Request is a plain request: of HTTP/1.1, with an unescaped path and one host, and without fields
// that affect the connection or select a part of the answer. Its slices are borrowed until the
// function that received it returns.
type Request struct {
	Method         Method
	Target         []byte // path and query, unchanged
	Path           []byte // ASCII, begins with a slash; may have dot segments and doubled slashes
	Query          []byte // without the question mark
	Host           []byte // with its port, not empty
	Authorization  []byte // nil: none
	ContentType    []byte // nil: none
	AcceptEncoding []byte // nil: none
	FromPage       bool   // a browser's page sent it: it has Origin or Sec-Fetch-Site
	Body           []byte // of a POST

	Remote string    // the client's address
	Now    time.Time // at most a second late

	size int // of the head, in bytes
	body int // of the body

	now      *moment
	stopping *atomic.Bool // nil: never
	last     bool         // the connection ends with this answer
}

// Read parses text as a plain request whose date is now, for tests and benchmarks of
// Options.Answer. It returns nil if the request is not plain.
func Read(text string, now time.Time) *Request {
	r := &Request{Now: now, now: momentOf(now)}
	if r.read([]byte(text)) != plain {
		return nil
	}
	return r
}

// Last reports whether the connection ends with the answer to this request. Once true, it stays
// true.
func (r *Request) Last() bool {
	r.last = r.last || r.stopping != nil && r.stopping.Load()
	return r.last
}

// AppendEnd appends the end of an answer's head: the date, Connection: close in the last answer,
// and the empty line.
func (r *Request) AppendEnd(dst []byte) []byte {
	if r.Last() {
		return append(dst, r.now.last...)
	}
	return append(dst, r.now.end...)
}

// Method is the method of a plain request.
type Method uint8

// The methods of plain requests.
const (
	GET Method = iota
	HEAD
	POST
)

// String returns the method's name in a request.
func (m Method) String() string { return [...]string{"GET", "HEAD", "POST"}[m] }

// verdict is the result of parsing the beginning of a text.
type verdict uint8

const (
	partial verdict = iota // it may become a plain request
	odd                    // it will not become one
	plain                  // it begins with a plain request
)

// read parses the request at the beginning of b. It is plain once it is complete.
//
// hot: BenchmarkRead, TestPlainRequestsAllocateNothing
func (r *Request) read(b []byte) verdict {
	switch v := r.parse(b); {
	case v == partial && len(b) < maxHead:
		return partial
	case v != plain || r.size > maxHead || r.size+r.body > maxRequest:
		return odd
	case r.size+r.body > len(b):
		return partial
	}
	r.Body = b[r.size : r.size+r.body]
	return plain
}

// parse reads the head of a request. A request is plain if all readers of HTTP/1.1 agree about it:
// RFC 9112 without its options, exceptions and legacy forms. Most programs send such requests.
// Other requests may be valid too.
func (r *Request) parse(b []byte) verdict {
	*r = Request{Remote: r.Remote, Now: r.Now, now: r.now, stopping: r.stopping, body: -1}
	if v := r.begin(b); v != plain {
		return v
	}
	for first := true; ; first = false {
		line, v := r.line(b)
		switch {
		case v != plain:
			return v
		case first && !r.requestLine(line):
			return odd
		case len(line) == 0:
			return r.complete()
		case !first && !r.field(line):
			return odd
		}
	}
}

// begin checks the method only.
func (r *Request) begin(b []byte) verdict {
	for m, begins := range [...]string{GET: "GET /", HEAD: "HEAD /", POST: "POST /"} {
		n := min(len(b), len(begins))
		if string(b[:n]) == begins[:n] {
			if n < len(begins) {
				return partial
			}
			r.Method = Method(m)
			return plain
		}
	}
	return odd
}

// line reads the next line of the head. A bare LF ends a line for other readers, so the request is
// not plain then.
func (r *Request) line(b []byte) ([]byte, verdict) {
	n := bytes.IndexByte(b[r.size:], '\n')
	if n < 0 {
		return nil, partial
	}
	line := b[r.size : r.size+n]
	r.size += n + 1
	if n == 0 || line[n-1] != '\r' {
		return nil, odd
	}
	return line[:n-1], plain
}

// complete checks the head as a whole.
func (r *Request) complete() verdict {
	if r.Host == nil || (r.Method == POST) != (r.body >= 0) {
		return odd
	}
	r.body = max(r.body, 0)
	return plain
}

// requestLine reads a line whose method begin has found.
func (r *Request) requestLine(line []byte) bool {
	target, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	if !ok {
		return false
	}
	r.Target = target[bytes.IndexByte(target, '/'):]
	n := span(r.Target, inPath)
	r.Path = r.Target[:n]
	if n == len(r.Target) {
		return true
	}
	r.Query = r.Target[n+1:]
	return r.Target[n] == '?' && span(r.Query, inQuery) == len(r.Query)
}
