package streamlog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// OpenSnapshot returns a reader of the bytes of a snapshot until ctx ends. It returns [io.EOF] once
// count and hash of the bytes are right, and an error that wraps ErrNotWhole if they are not, or if
// newer snapshots have replaced this one.
func (l *Log) OpenSnapshot(ctx context.Context, s Snapshot) io.Reader {
	return &snapshotReader{ctx: ctx, log: l, s: s, next: 1, hash: sha256.New()}
}

type snapshotReader struct {
	ctx  context.Context
	log  *Log
	s    Snapshot
	next uint64 // sequence

	chunks, bytes uint64 // that were read
	hash          hash.Hash
	rest          []byte // of the newest message
}

// Read implements [io.Reader].
func (r *snapshotReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.chunks == r.s.Chunks {
			return 0, r.check()
		}
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *snapshotReader) check() error {
	if sum := hex.EncodeToString(r.hash.Sum(nil)); r.bytes != r.s.Bytes || sum != r.s.SHA256 {
		return fmt.Errorf("%w: it has %d bytes with hash %.12s, want %d with %.12s", ErrNotWhole, r.bytes, sum, r.s.Bytes, r.s.SHA256)
	}
	return io.EOF
}

// chunk is a message of a snapshot.
type chunk struct {
	sequence, index uint64
	data            []byte
}

// fetch takes the next message.
func (r *snapshotReader) fetch() error {
	bounded, cancel := context.WithTimeout(r.ctx, chunkPatience)
	defer cancel()
	m, err := again(bounded, &r.log.trouble, r.ask)
	if err != nil {
		return err
	}
	r.next = m.sequence + 1
	switch {
	case m.index < r.chunks: // it was stored twice
		return nil
	case m.index > r.chunks:
		return fmt.Errorf("%w: its message %d is not there", ErrNotWhole, r.chunks)
	}
	r.chunks++
	r.bytes += uint64(len(m.data))
	_, _ = r.hash.Write(m.data) // never fails
	r.rest = m.data
	return nil
}

// ask asks any of the servers for the next message.
func (r *snapshotReader) ask(ctx context.Context) (c chunk, err error) {
	m, err := r.log.snapshots.GetMsg(ctx, r.next, jetstream.WithGetMsgSubject(r.s.Subject))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound): // that server may be behind: ask the leader
		there, err := r.log.message(ctx, r.log.Stream+SnapshotsSuffix, map[string]any{"seq": r.next, "next_by_subj": r.s.Subject})
		switch {
		case err != nil:
			return c, err
		case there == nil:
			return c, final{fmt.Errorf("%w: its message %d is not there", ErrNotWhole, r.chunks)}
		}
		return c, jetstream.ErrMsgNotFound // the server has it soon
	case err != nil:
		return c, err
	}
	c = chunk{sequence: m.Sequence, data: m.Data}
	if c.index, err = strconv.ParseUint(nats.Header(m.Header).Get(chunkHeader), 10, 64); err != nil {
		err = final{fmt.Errorf("%w: message %d of %s: header %s: %w", ErrForeign, m.Sequence, r.s.Subject, chunkHeader, err)}
	}
	return c, err
}
