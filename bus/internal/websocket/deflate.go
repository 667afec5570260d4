package websocket

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"sync"
)

const (
	// minDeflated is the size up to which deflating is not worth it.
	minDeflated = 64
	// inflateBlock is the size of the parts in which a message is inflated and handed over.
	inflateBlock = 32 << 10
	// keptMessage is the largest buffer of a deflated message that outlives it.
	keptMessage = 64 << 10
)

// deflateTail ends a message as its sender has left it out (RFC 7692 section
// 7.2.2), and the stream with it.
var deflateTail = []byte{0x00, 0x00, 0xff, 0xff, 0x01, 0x00, 0x00, 0xff, 0xff}

var errTooBig = &Error{CloseTooBig, "a deflated message is too big"}

// Deflating holds large tables. No message depends on the one before, so that
// they belong to the goroutine that uses them at the moment, not to connections.
var (
	deflaters = sync.Pool{New: func() any {
		w, _ := flate.NewWriter(nil, flate.BestSpeed)
		return w
	}}
	packedBufs = sync.Pool{New: func() any {
		b := make([]byte, 0, keptMessage+keptMessage/8) // a piece that does not compress grows a little
		return &b
	}}
	inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

// unpack inflates a whole message and passes it on block by block. The inflated size has the
// same bound as the deflated size: a small message that inflates to more is an error.
func (r *Reader) unpack(sink Sink) error {
	in := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(in)
	in.(flate.Resetter).Reset(io.MultiReader(bytes.NewReader(r.message), bytes.NewReader(deflateTail)), nil)
	if r.message = r.message[:0]; cap(r.message) > keptMessage {
		defer func() { r.message = nil }()
	}
	block := make([]byte, inflateBlock)
	for left := sink.Limit(); ; {
		n, err := in.Read(block)
		if left -= n; left < 0 {
			return errTooBig
		}
		if n > 0 && !sink.Data(block[:n]) {
			return errStop
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &Error{closeInvalid, "a deflated message is broken"}
		}
	}
}

// AppendMessage adds a binary message to dst, deflated if that is agreed on and makes it smaller.
func AppendMessage(dst, payload []byte, deflate bool) []byte {
	if deflate && len(payload) > minDeflated {
		packed := packedBufs.Get().(*[]byte)
		defer packedBufs.Put(packed)
		b := appender{(*packed)[:0]}
		w := deflaters.Get().(*flate.Writer)
		w.Reset(&b)
		w.Write(payload) // b takes everything
		w.Flush()
		deflaters.Put(w)
		if n := len(b.b) - 4; n < len(payload) { // without 00 00 ff ff
			return AppendFrame(dst, flagDeflated|opBinary, b.b[:n])
		}
	}
	return AppendFrame(dst, opBinary, payload)
}

// appender is an io.Writer that appends.
type appender struct{ b []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}
