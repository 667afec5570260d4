package perf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"paddock/wire"
)

// worker is one routine of a run: it alone touches its fields until it has ended.
type worker struct {
	run       *Run
	conn      Conn
	connIndex int
	routine   int
	calls     int // that are its share
	rec       *recorder
	body      []byte
	bodies    [][]byte
	answer    []byte
	sent      int64 // operations handed over
	hadBefore int64 // posts that the server had on the connection before
	verify    verifier
}

// workers deals the operations.
func (r *Run) workers() (all []*worker) {
	for ci, c := range r.Conns {
		for ri := range r.working() {
			w := &worker{
				run: r, conn: c, connIndex: ci, routine: ri, calls: r.share(ri),
				rec: r.latency.recorder(r.Sample), body: make([]byte, r.Payload),
			}
			w.rec.chain = r.Do == Post || r.Do == Request
			for i := range w.body {
				w.body[i] = pattern[i%fillPeriod]
			}
			w.bodies = make([][]byte, min(r.Batch, w.calls))
			for i := range w.bodies {
				w.bodies[i] = w.body
			}
			all = append(all, w)
		}
	}
	return all
}

// byConn groups workers by their connection.
func (r *Run) byConn(workers []*worker) (groups [][]*worker) {
	for n := r.working(); len(workers) > 0; workers = workers[n:] {
		groups = append(groups, workers[:n])
	}
	return groups
}

// work does the worker's share, until ctx ends or a call fails: on a connection
// that is gone every further one would. Only a verifying run goes on.
func (w *worker) work(ctx context.Context) {
	call, verb := w.post, "post"
	switch w.run.Do {
	case Request:
		call, verb = w.request, "request"
	case StreamTx:
		call, verb = w.streamTx, "stream"
	case StreamRx:
		call, verb = w.streamRx, "stream"
	case Verify:
		w.verifyAll(ctx)
		return
	}
	for done := 0; done < w.calls && !w.run.over(ctx); {
		n, err := call(ctx, w.calls-done)
		done += n
		if err != nil {
			if !interrupted(ctx, err) {
				w.fail(verb, uint64(done+1), err)
			}
			return
		}
	}
}

func (w *worker) fail(verb string, seq uint64, err error) {
	w.run.fail(FailedCall{Verb: verb, Conn: w.connIndex, Routine: w.routine, Seq: seq, Error: err.Error(), Sent: sentBy(err)})
}

// post sends one batch. A batch takes the available bodies up to its size, and waits for none.
func (w *worker) post(ctx context.Context, left int) (n int, err error) {
	n = min(left, len(w.bodies))
	start := w.rec.begin()
	if n == 1 {
		err = w.conn.Post(ctx, KindPost, w.body)
	} else {
		err = w.conn.PostBatch(ctx, KindPost, w.bodies[:n])
	}
	if err != nil {
		return 0, err
	}
	w.rec.end(start, n, n)
	w.sent += int64(n)
	return n, nil
}

// request makes one call.
func (w *worker) request(ctx context.Context, _ int) (n int, err error) {
	start := w.rec.begin()
	w.answer, err = w.conn.CallAppend(ctx, w.answer[:0], KindRequest, w.body)
	if err != nil {
		return 0, err
	}
	w.rec.end(start, 1, 1)
	if len(w.answer) != len(w.body) {
		return 1, fmt.Errorf("the echo of %d bytes has %d", len(w.body), len(w.answer))
	}
	return 1, nil
}

// streamTx sends the messages of one stream. Its outcome is the server's count.
func (w *worker) streamTx(ctx context.Context, _ int) (n int, err error) {
	start := w.rec.begin()
	s, err := w.conn.Open(ctx, KindStreamTx, wire.OpenOptions{})
	if err != nil {
		return 0, err
	}
	defer w.tie(ctx, s)()
	if err := writeMessages(s, w.body, w.run.Stream); err != nil {
		return 0, err
	}
	if err := s.CloseWrite(); err != nil {
		return 0, err
	}
	count, err := s.ReadMsg(w.answer[:0])
	if err != nil {
		return 0, noEOF(err)
	}
	if got := binary.LittleEndian.Uint64(append(count, make([]byte, 8)...)); len(count) != 8 || got != uint64(w.run.Stream) {
		return 0, fmt.Errorf("the server had %d of %d messages", got, w.run.Stream)
	}
	w.answer = count
	w.rec.end(start, w.run.Stream, 1)
	return 1, nil
}

// streamRx receives the messages of one stream.
func (w *worker) streamRx(ctx context.Context, _ int) (n int, err error) {
	start := w.rec.begin()
	want := streamOrder{w.run.Stream, w.run.Payload}
	s, err := w.conn.Open(ctx, kindStreamRx, wire.OpenOptions{First: want.append(nil)})
	if err != nil {
		return 0, err
	}
	defer w.tie(ctx, s)()
	_ = s.CloseWrite() // fails if the server has sent everything already, and reads no more
	had := 0
	for {
		w.answer, err = s.ReadMsg(w.answer[:0])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if len(w.answer) != w.run.Payload {
			return 0, fmt.Errorf("message %d has %d bytes, not %d", had+1, len(w.answer), w.run.Payload)
		}
		had++
	}
	if had != w.run.Stream {
		return 0, fmt.Errorf("%d of %d messages came", had, w.run.Stream)
	}
	w.rec.end(start, had, 1)
	return 1, nil
}

// tie resets the stream when ctx ends. The function that it returns closes it.
func (w *worker) tie(ctx context.Context, s *wire.Stream) func() {
	stop := context.AfterFunc(ctx, func() { _ = s.Reset(wire.Cancelled) })
	return func() {
		stop()
		_ = s.Close()
	}
}

// noEOF makes an end that came too soon an error that says so.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
