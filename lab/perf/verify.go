package perf

import (
	"context"
	"errors"
	"fmt"
	"io"

	"paddock/lab/internal/numbers"
	"paddock/wire"
)

const (
	// streamEvery is how rare streams are in the mix: one call in a hundred. The
	// others are posts, acknowledged posts and requests in turn.
	streamEvery = 100
	// maxVerifyMessages bounds the messages of one stream of the mix.
	maxVerifyMessages = 64
	// ackWindow is after how many acknowledged posts a routine waits for them.
	ackWindow = 64
	// messageBits is the part of a stream's numbers that counts its messages.
	messageBits = 20
)

// verifier is a worker's account: the numbers of its calls by class, and those
// that succeeded.
type verifier struct {
	lane    uint32
	seq     [classes]uint64
	ok      [classes]numbers.Set
	failed  [classes]int64
	notSent [classes]int64 // of those
	waiting []ackWait
	sent    []byte // body of the present call
}

// ackWait is a post whose acknowledgement is awaited.
type ackWait struct {
	seq, number uint64
}

// verifyAll makes the calls of the worker's share. Unlike other runs it goes on
// after a failed call, unless the connection will not come back.
func (w *worker) verifyAll(ctx context.Context) {
	v := &w.verify
	v.lane = uint32(w.connIndex*w.run.Routines + w.routine)
	for i := range w.calls {
		if w.run.over(ctx) || w.gone() {
			break
		}
		c := classOf(i)
		v.seq[c]++
		start := w.rec.begin()
		err := w.verifyInTime(ctx, c, bodyID{w.run.run, v.lane, v.seq[c]})
		w.rec.end(start, 1, 1)
		if c == classAcked && err == nil {
			if len(v.waiting) == ackWindow {
				w.awaitAcks(ctx)
			}
			continue // its outcome comes later
		}
		w.outcome(ctx, c, v.seq[c], err)
	}
	w.awaitAcks(ctx)
}

// classOf deals the calls of a routine.
func classOf(i int) class {
	if i%streamEvery == streamEvery-1 {
		return classStream
	}
	return class(i % 3)
}

// gone says that the connection has ended for good.
func (w *worker) gone() bool {
	c, ok := w.conn.(interface{ Done() <-chan struct{} })
	if !ok {
		return false
	}
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// outcome records the outcome of a call.
func (w *worker) outcome(ctx context.Context, c class, seq uint64, err error) {
	v := &w.verify
	switch {
	case err == nil:
		v.ok[c].Add(seq)
	case interrupted(ctx, err): // neither done nor failed
	default:
		if errors.Is(err, errBody) {
			w.run.spoiled(c)
		}
		v.failed[c]++
		if sentBy(err) == SentNot {
			v.notSent[c]++
		}
		w.fail(classNames[c], seq, err)
	}
}

// verifyInTime makes one call, which may take as long as the options say.
func (w *worker) verifyInTime(ctx context.Context, c class, id bodyID) error {
	if w.run.Timeout > 0 {
		within, cancel := context.WithTimeout(ctx, w.run.Timeout)
		defer cancel()
		ctx = within
	}
	return w.verifyCall(ctx, c, id)
}

// verifyCall makes one call and checks its outcome.
func (w *worker) verifyCall(ctx context.Context, c class, id bodyID) (err error) {
	v := &w.verify
	size := w.run.Payload
	v.sent = appendBody(v.sent[:0], id, size)
	switch c {
	case classPost:
		return w.conn.Post(ctx, kindVerifyPost, v.sent)
	case classAcked:
		number, err := w.conn.PostAck(ctx, kindVerifyAcked, v.sent)
		if err == nil {
			v.waiting = append(v.waiting, ackWait{id.seq, number})
		}
		return err
	case classRequest:
		w.answer, err = w.conn.CallAppend(ctx, w.answer[:0], kindVerifyRequest, v.sent)
		if err != nil {
			return err
		}
		return checkAnswer(w.answer, id, size)
	}
	return w.verifyStream(ctx, id, size)
}

// awaitAcks waits for the acknowledgements that are due and enters each outcome.
func (w *worker) awaitAcks(ctx context.Context) {
	v := &w.verify
	if len(v.waiting) == 0 {
		return
	}
	last := v.waiting[len(v.waiting)-1].number
	err := w.conn.WaitAcked(ctx, last)
	upTo := last
	if err != nil {
		upTo = w.conn.Acked()
	}
	keep := w.keepAcked(upTo)
	for _, a := range v.waiting {
		switch {
		case a.number > upTo:
			w.outcome(ctx, classAcked, a.seq, err)
		default:
			w.outcome(ctx, classAcked, a.seq, keep)
		}
	}
	v.waiting = v.waiting[:0]
}

// keepAcked writes acknowledged posts to the client's journal.
func (w *worker) keepAcked(upTo uint64) error {
	v := &w.verify
	if w.run.journal == nil {
		return nil
	}
	session := w.run.sessionOf(w.connIndex)
	at := Lane{session.ID, session.Epoch, session.Index}
	var records []Acked
	for _, a := range v.waiting {
		if a.number > upTo {
			break
		}
		id := bodyID{w.run.run, v.lane, a.seq}
		v.sent = appendBody(v.sent[:0], id, w.run.Payload)
		records = append(records, Acked{Lane: at, Number: a.number, Checksum: checksum(v.sent), body: id})
	}
	return w.run.journal.Append(records)
}

// verifyStream sends messages and reads the answer to each. The number of a
// message is that of its stream and, below, its place in it.
func (w *worker) verifyStream(ctx context.Context, id bodyID, size int) error {
	s, err := w.conn.Open(ctx, kindVerifyStream, wire.OpenOptions{})
	if err != nil {
		return err
	}
	defer w.tie(ctx, s)()
	messages := min(w.run.Stream, maxVerifyMessages)
	wrote := make(chan error, 1) // one value, so that the writer never waits
	go func() { wrote <- writeNumbered(s, id, size, messages) }()
	err = w.readAnswers(s, id, size, messages)
	if err != nil {
		_ = s.Reset(wire.Cancelled) // which ends the writer
	}
	return errors.Join(err, <-wrote)
}

// writeNumbered writes the messages of a stream and ends its half.
func writeNumbered(s *wire.Stream, id bodyID, size, messages int) error {
	var body []byte
	for i := range messages {
		body = appendBody(body[:0], messageID(id, i), size)
		if err := s.WriteMsg(body); err != nil {
			return err
		}
	}
	return s.CloseWrite()
}

func (w *worker) readAnswers(s *wire.Stream, id bodyID, size, messages int) (err error) {
	for i := range messages {
		w.answer, err = s.ReadMsg(w.answer[:0])
		if err != nil {
			return fmt.Errorf("answer %d of %d: %w", i+1, messages, noEOF(err))
		}
		if err := checkAnswer(w.answer, messageID(id, i), size); err != nil {
			return err
		}
	}
	switch b, err := s.ReadMsg(w.answer[:0]); {
	case err == nil:
		return fmt.Errorf("%w: %d bytes behind the last answer", errBody, len(b))
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("the end behind the last answer: %w", err)
	}
	return nil
}

// messageID names a message of the stream id.
func messageID(id bodyID, i int) bodyID {
	id.seq = id.seq<<messageBits | uint64(i)
	return id
}

// spoiled notes something that came back other than it should.
func (r *Run) spoiled(c class) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.corrupt[c]++
}
