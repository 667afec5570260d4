package client

import (
	"errors"
	"fmt"
	"io"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

const (
	// congestedAfter is the age of the oldest unsent byte from which the link counts as congested.
	// The bytes of one frame are sent together, before those of other tunnels. Streams take turns,
	// so on a congested link more of an answer becomes a stream.
	congestedAfter = 20 * time.Millisecond
	// maxAhead bounds the part of a streamed answer's body in the frame of its head; minAhead does
	// so on a congested link.
	maxAhead, minAhead = message.MaxRecord / 2, message.MinSmall
)

// ahead returns two bounds of the first frame of an answer, in bytes. An answer up to small, with
// its head, is sent whole in that frame. A longer one becomes a stream, and up to first bytes of
// its body are in the frame.
func (c *Client) ahead(link *wire.Conn, h *h1.Head) (small, first int) {
	if h.Length >= 0 && h.Length <= minAhead || link.OldestUnsent() < congestedAfter {
		return c.smallMax(), maxAhead
	}
	return min(c.smallMax(), 2*minAhead), minAhead
}

// answerRequest sends the answer of a small exchange: in one piece if it is short and of known
// length, otherwise promoted to a stream.
func (v *visit) answerRequest(r *wire.Request) error {
	if v.resp.Status < 200 {
		st, err := r.Promote(message.AppendAnswer(nil, nil, nil))
		if err != nil {
			return err
		}
		return v.stream(st)
	}
	toHead := v.flags&message.FlagHead != 0
	v.b.noteKeepAlive(&v.resp)
	v.body = v.b.bodyOf(&v.resp, toHead)
	out := relay.Frames.Get().(*[]byte)
	defer func() { *out = v.out[:0]; relay.Frames.Put(out) }()
	v.out = (*out)[:0]
	small, first := v.c.ahead(r.Conn(), &v.resp)
	if v.body.over || v.body.kind == h1.ByLength && v.resp.Length < int64(small-message.MinSmall) {
		return v.answerWhole(r, toHead, small)
	}
	return v.answerLong(r, toHead, first)
}

// answerWhole sends a short body and its head in one frame.
func (v *visit) answerWhole(r *wire.Request, toHead bool, small int) error {
	v.text = h1.AppendAnswerHead(v.text[:0], &v.resp, toHead, 0)
	v.out = message.AppendAnswer(v.out, v.text, nil)
	if len(v.out)+int(max(v.resp.Length, 0)) > small && !v.body.over {
		return v.promote(r)
	}
	for {
		piece, err := v.body.next()
		if errors.Is(err, io.EOF) {
			return r.Respond(v.out)
		}
		if err != nil {
			return v.failure(err)
		}
		v.out = append(v.out, piece...)
	}
}

// answerLong sends a body that is long, or of unknown length: the available part in the frame of
// the head, up to most bytes, and the rest as a stream. If the available part is the whole body,
// there is no stream.
func (v *visit) answerLong(r *wire.Request, toHead bool, most int) error {
	v.body.stay = true
	first := relay.Records.Get().(*relay.Record)
	defer relay.Records.Put(first)
	text := h1.AppendAnswerHead(nil, &v.resp, toHead, -1)
	n, whole := 0, false
	for n < most {
		piece, err := v.body.next()
		if errors.Is(err, io.EOF) {
			whole = v.body.kind == h1.ByChunks && string(v.b.unread()) == "\r\n"
			break
		}
		if errors.Is(err, errWait) {
			break
		}
		if err != nil {
			return v.failure(err)
		}
		took := copy(first[n:most], piece)
		n += took
		if took < len(piece) { // the rest is read again
			v.b.r -= len(piece) - took
			v.body.left += int64(len(piece) - took)
			v.body.over = false
			break
		}
	}
	v.body.stay = false
	if whole {
		v.b.r += len("\r\n")
		v.out = message.AppendAnswer(v.out, h1.AppendAnswerHead(text[:0], &v.resp, toHead, int64(n)), first[:n])
		return r.Respond(v.out)
	}
	v.out = message.AppendAnswer(v.out, text, first[:n])
	return v.promote(r)
}

// promote sends the prepared answer, and goes on as a stream.
func (v *visit) promote(r *wire.Request) error {
	st, err := r.Promote(v.out)
	if err != nil {
		return err
	}
	return v.sendBody(st)
}

// sendBody sends the rest of the body in records, and the trailers.
func (v *visit) sendBody(st *wire.Stream) error {
	for {
		piece, err := v.body.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v.failure(err)
		}
		at := v.b.r - len(piece)
		record := v.b.buf[at-1 : v.b.r]
		record[0] = message.RecordBody
		if err := st.WriteMsg(record); err != nil {
			return fmt.Errorf("tunnel: %w", err)
		}
	}
	if v.body.kind != h1.ByChunks {
		return nil
	}
	var t h1.Head
	if _, err := v.b.readHead(&t, h1.TargetTrailers); err != nil {
		return v.failure(err)
	}
	if text := h1.AppendTrailers([]byte{message.RecordTrailers}, &t); len(text) > len("x\r\n") {
		return st.WriteMsg(text)
	}
	return nil
}
