package natsload

import (
	"bytes"
	"errors"
	"fmt"

	natscodec "paddock/lab/internal/codec/nats"
)

// Errors in a server's output.
var (
	ErrProtocol = errors.New("not according to the protocol")
	ErrServer   = errors.New("the server says")
)

// receiver counts a server's output, however the reads split it. It belongs to one goroutine. The
// zero value is ready.
type receiver struct {
	// message, if not nil, gets each message once all of it has come.
	message func(*natscodec.Operation)

	messages, pings, pongs int64

	// block is one delivered message many times over, for subscribers that get nothing else; nil
	// without.
	block []byte
	one   int // its length

	kept []byte // the beginning of an operation whose rest has not come
	skip int    // bytes that still come of a message that was counted
}

// expect makes the receiver compare with this message, as the server delivers it, before it parses.
// Other bytes are parsed.
func (r *receiver) expect(message []byte) {
	r.one, r.block = len(message), bytes.Repeat(message, max(1, blockSize/len(message)))
}

// feed takes the bytes of a read. hot: BenchmarkReceiver.
func (r *receiver) feed(p []byte) error {
	if len(r.kept) > 0 {
		r.kept = append(r.kept, p...)
		p = r.kept
	}
	for len(p) > 0 {
		n := min(r.skip, len(p))
		r.skip -= n
		p = p[n:]
		p = p[r.same(p):]
		op, n, err := natscodec.Next(p)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		case n == 0 || op.Rest > 0 && r.message != nil:
			r.kept = append(r.kept[:0], p...)
			return nil
		}
		if err := r.take(&op); err != nil {
			return err
		}
		r.skip, p = op.Rest, p[n:]
	}
	r.kept = r.kept[:0]
	return nil
}

// same counts messages at the beginning of p that are the expected one.
func (r *receiver) same(p []byte) (n int) {
	for r.block != nil && r.skip == 0 {
		size := min(len(r.block), len(p)/r.one*r.one)
		if size == 0 || !bytes.Equal(p[:size], r.block[:size]) {
			break
		}
		r.messages += int64(size / r.one)
		p = p[size:]
		n += size
	}
	return n
}

func (r *receiver) take(op *natscodec.Operation) error {
	switch op.Kind {
	case natscodec.KindMessage:
		r.messages++
		if r.message != nil {
			r.message(op)
		}
	case natscodec.KindPing:
		r.pings++
	case natscodec.KindPong:
		r.pongs++
	case natscodec.KindErr:
		return fmt.Errorf("%w %s", ErrServer, op.Text)
	}
	return nil
}
