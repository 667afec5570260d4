package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"paddock/internal/platform/ingest"
	"paddock/internal/process/lifecycle"
)

const (
	// maxLine bounds a line, in bytes; a longer one is rejected.
	maxLine = 64 << 10
	// lineChunk bounds the bytes of lines that share one sync.
	lineChunk = 256 << 10
	// fullRetry is the wait before lines are offered again to a full buffer.
	fullRetry = time.Second
)

// readLines takes positions, one JSON object a line, from r until it ends or ctx does. Its writer
// waits while the buffer is full. A read cannot be interrupted: the goroutine that reads r outlives
// ctx, with one chunk at most.
func (s *source) readLines(ctx context.Context, r io.Reader) error {
	chunks := make(chan []byte)
	go func() { // ends with r, or after the read that ctx has abandoned
		defer close(chunks)
		in := bufio.NewReaderSize(r, maxLine)
		for {
			chunk, err := s.nextLines(in)
			if len(chunk) > 0 {
				select {
				case chunks <- chunk:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case chunk, ok := <-chunks:
			if !ok {
				return nil
			}
			if err := s.takeLines(ctx, chunk); err != nil {
				return ended(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// nextLines waits for a line, and returns it with the lines buffered behind it.
func (s *source) nextLines(in *bufio.Reader) (chunk []byte, err error) {
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.rejected.Add(1)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			line = nil
		}
		chunk = append(chunk, line...)
		if err != nil {
			return chunk, err
		}
		ahead, _ := in.Peek(in.Buffered())
		if len(chunk) >= lineChunk || bytes.IndexByte(ahead, '\n') < 0 {
			return chunk, nil
		}
	}
}

// takeLines keeps lines, and waits while the buffer is full.
func (s *source) takeLines(ctx context.Context, chunk []byte) error {
	dec := s.decoder()
	dec.Format = ingest.Lines
	batch, err := dec.Decode(chunk)
	if err != nil { // only white space
		return nil
	}
	bodies, _, _ := s.encode(batch) // positions without a time may be missing: they would be wrong later
	for {
		if _, err := s.spool.Offer(bodies...); err == nil {
			s.accepted.Add(uint64(len(bodies)))
			return nil
		}
		if err := lifecycle.Sleep(ctx, fullRetry); err != nil {
			s.refused.Add(uint64(len(bodies))) // they are lost
			return err
		}
	}
}
