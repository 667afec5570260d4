package server

import (
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	"paddock/internal/netio/h1"
)

// request is a visitor's request, independent of the front that has read it. Its memory is borrowed
// until the turn is over.
type request struct {
	h1.Head                    // without the fields of the visitor's connection; the target begins with a slash, or is *
	ctx        context.Context // ends when the visitor leaves
	peer       netip.AddrPort  // the visitor's address; the zero value: unknown
	secure     bool            // the visitor came over TLS
	serverName string          // that TLS was begun with
	http2      bool
	wrong      error // with the request, nil: nothing
}

// calls reports whether the body may be a stream of gRPC's or Connect's messages, over HTTP/2:
// services send the head only together with their first message.
func (r *request) calls() bool {
	if !r.http2 {
		return false
	}
	kind := r.Get("content-type")
	for _, calls := range []string{"application/grpc", "application/connect+"} {
		if len(kind) >= len(calls) && h1.EqualFold(kind[:len(calls)], calls) {
			return true
		}
	}
	return false
}

// turn is one request of a visitor, with the way to answer it: over a connection of
// h1Conn, or over net/http. One goroutine answers; another one may read the body
// meanwhile.
type turn interface {
	asked() *request

	// Read reads the body. Behind its end, io.EOF, there are the trailers. An error that
	// wraps h1.ErrMalformed is the visitor's mistake.
	io.Reader
	trailers() []h1.Field
	// here reports whether so many bytes of the body can be read without waiting.
	here(n int64) bool
	// readUntil bounds how long Read waits; the zero time is no bound.
	readUntil(t time.Time)
	// last announces that the rest of the body will not be read.
	last()
	// duplex announces that the body is read while the answer is written.
	duplex()
	// proceed sends 100 to a visitor that expects it. The reader of the body may call it too.
	proceed()

	// interim passes on a checked head with 1xx.
	interim(text []byte, h *h1.Head) error
	// begin passes on a checked final head and the available part of the body; whole reports
	// whether that is all of it.
	begin(text []byte, h *h1.Head, rest []byte, whole bool) error
	// write passes on more of the body, which it keeps until flush or end.
	write(b []byte) error
	flush() error
	// end ends the body, with the text of trailers or nil.
	end(trailers []byte, h *h1.Head) error
	// abort cuts the answer: it must not look whole. The turn is over.
	abort()
	// hijack gives the connection and its buffered bytes to the caller. The turn is over.
	hijack() (conn net.Conn, first []byte, err error)
}
