package server

import (
	"context"
	"fmt"
	"io"
	"testing"

	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// A client that sends a record beyond its bound is reset before all of it has arrived, and the
// visitor's answer does not look complete: no uncounted bytes are buffered.
func TestLongRecordsAreRefused(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct {
		kind byte
		size int
		ok   bool
	}{
		"body":              {message.RecordBody, message.MaxRecord, true},
		"body, a byte more": {message.RecordBody, message.MaxRecord + 1, false},
		"body, endless":     {message.RecordBody, 1 << 20, false},
		"head":              {message.RecordHead, 900 << 10, false},
		"trailers":          {message.RecordTrailers, 900 << 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			ended := make(chan error, 1)
			mux := wire.NewMux()
			mux.HandleRequest(message.KindHTTP, func(ctx context.Context, r *wire.Request) error {
				text := head
				if c.kind == message.RecordHead {
					text = ""
				}
				st, err := r.Promote(message.AppendAnswer(nil, []byte(text), nil))
				if err != nil {
					return err
				}
				record := make([]byte, 1+c.size)
				record[0] = c.kind
				if err = st.WriteMsg(record); err == nil && !c.ok {
					<-ctx.Done() // it was sent before it was looked at
					err = ctx.Err()
				}
				ended <- err
				return err
			})
			p.bare(mux)
			visitor := dialTCP(t, p.Front.Addr().String())
			fmt.Fprint(visitor, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
			got, err := io.ReadAll(visitor)
			if why := <-ended; c.ok != (why == nil) {
				t.Errorf("the client hears %v", why)
			}
			if cut := err != nil || !hasLastChunk(got); c.ok == cut && c.kind != message.RecordHead {
				t.Errorf("the visitor got %d bytes, %v", len(got), err)
			}
		})
	}
}

func hasLastChunk(b []byte) bool { return len(b) > 5 && string(b[len(b)-5:]) == "0\r\n\r\n" }
