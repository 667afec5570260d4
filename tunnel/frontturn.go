package tunnel

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"time"
)

// request is what a visitor asks for, whoever has read it. What it holds is borrowed
// until his turn is over.
type request struct {
	head                       // with the fields of his connection; the target begins with a slash, or is *
	ctx        context.Context // ends when he leaves
	peer       netip.AddrPort  // his address; the zero value: unknown
	secure     bool            // he came over TLS
	serverName string          // that TLS was begun with
	http2      bool
	wrong      error // with the request, nil: nothing
}

// size is the length of the body, -1 if it is not known.
func (r *request) size() int64 {
	if r.chunked {
		return -1
	}
	return max(r.length, 0)
}

// get is the value of the first field with a name, which is in lower case; nil if there
// is none.
func (r *request) get(name string) []byte {
	for i := range r.fields {
		if f := &r.fields[i]; equalFold(f.name, name) {
			return f.value
		}
	}
	return nil
}

// joined are the values of all fields with a name, as one list.
func (r *request) joined(name string) (list []byte) {
	for i := range r.fields {
		if f := &r.fields[i]; equalFold(f.name, name) {
			if len(list) > 0 {
				list = append(list, ", "...)
			}
			list = append(list, f.value...)
		}
	}
	return list
}

// calls says whether the body may be a stream of gRPC's or Connect's messages, over HTTP/2:
// services answer with the head only when they have something to say.
func (r *request) calls() bool {
	if !r.http2 {
		return false
	}
	kind := r.get("content-type")
	for _, calls := range []string{"application/grpc", "application/connect+"} {
		if len(kind) >= len(calls) && equalFold(kind[:len(calls)], calls) {
			return true
		}
	}
	return false
}

// path is the target up to its query.
func (r *request) path() string {
	path, _, _ := bytes.Cut(r.target, []byte{'?'})
	return string(path)
}

// turn is one request of a visitor, with the way to answer it: over a connection of
// h1Conn, or over net/http. One goroutine answers; another one may read the body
// meanwhile.
type turn interface {
	asked() *request

	// Read reads the body. Behind its end, io.EOF, there are the trailers. An error that
	// wraps errHead is the visitor's mistake.
	io.Reader
	trailers() []field
	// here says whether so many bytes of the body can be read without waiting.
	here(n int64) bool
	// readUntil bounds how long Read waits; the zero time is no bound.
	readUntil(t time.Time)
	// last says that what is left of the body will not be read.
	last()
	// duplex says that the body is read while the answer is written.
	duplex()
	// proceed asks a visitor who expects it for the body. Who reads may call it too.
	proceed()

	// interim passes on a checked head with 1xx.
	interim(text []byte, h *head) error
	// begin passes on a checked final head and what is there of the body; whole says that
	// this is all of it.
	begin(text []byte, h *head, rest []byte, whole bool) error
	// write passes on more of the body, which it keeps until flush or end.
	write(b []byte) error
	flush() error
	// end ends the body, with the text of trailers or nil.
	end(trailers []byte, h *head) error
	// abort cuts the answer: it must not look whole. The turn is over.
	abort()
	// hijack gives the connection to the caller, and what was read of it. The turn is over.
	hijack() (conn net.Conn, first []byte, err error)
}
