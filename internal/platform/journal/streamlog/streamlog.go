// Package streamlog is the log of a cluster: one order of entries in a stream of JetStream, which
// nats-server replicates, and of which one node at a time is the writer.
//
// A node becomes the writer by a claim, a message of its own. Every message expects the sequence of
// the one before it (the header Nats-Expected-Last-Sequence), so a writer that another one has
// replaced can add nothing any more: its next message is refused, whatever it believes, and however
// long it was stopped. There is no lease and no clock.
//
// An entry may have several messages. Those of an entry that its writer did not finish are ended by
// the next claim, and no reader sees the entry.
//
// Readers follow the copies that the server publishes of each stored message, and ask for what they
// miss. They need no consumer, which would be on one server and would move with it.
package streamlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// The errors of a log.
var (
	// ErrReplaced: another node has become the writer.
	ErrReplaced = errors.New("another node has become the writer")
	// ErrForeign: the stream holds a message that no writer has made.
	ErrForeign = errors.New("not a message of a log")
	// ErrTrimmed: the entries that are asked for are no longer kept.
	ErrTrimmed = errors.New("the entries are no longer kept")
)

const (
	// attempt bounds one request to the servers, and the pauses lie between two attempts.
	attempt            = 500 * time.Millisecond
	minPause, maxPause = 20 * time.Millisecond, 200 * time.Millisecond
	// publishTimeout is how long a writer tries to add a message. An entry may have many.
	publishTimeout = 10 * time.Second
	// maxPart bounds the bytes of a message, if the servers accept as much.
	maxPart = 512 << 10
	// headRoom is for the head of a message and the headers of NATS.
	headRoom = 512
)

// Config names a log.
type Config struct {
	// Stream is the stream's name, and Subject that of its messages. Copies are published below
	// Copies, a prefix of subjects without a dot at its end.
	Stream, Subject, Copies string
	// Snapshots is the prefix of the subjects of snapshots, without a dot at its end. They are in a
	// stream of their own, whose name is Stream and SnapshotsSuffix. "": there are none.
	Snapshots string
	// Replicas is the number of servers that hold the stream; 0: 1.
	Replicas int
}

// idKey is the stream's metadata that holds the id of the log.
const idKey = "paddock.log"

// Create makes the streams, or changes them to the present configuration.
func Create(ctx context.Context, nc *nats.Conn, c Config) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	id := nuid.Next()
	if there, err := js.Stream(ctx, c.Stream); err == nil && there.CachedInfo().Config.Metadata[idKey] != "" {
		id = there.CachedInfo().Config.Metadata[idKey]
	} else if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: c.Stream, Subjects: []string{c.Subject}, Replicas: max(c.Replicas, 1),
		Description: "the log of a Paddock cluster: inputs in their one order",
		Storage:     jetstream.FileStorage, AllowDirect: true, DenyDelete: true,
		Duplicates: 2 * time.Minute, Metadata: map[string]string{idKey: id},
		RePublish: &jetstream.RePublish{Source: c.Subject, Destination: c.Copies + "." + c.Subject},
	})
	if err == nil && c.Snapshots != "" {
		_, err = js.CreateOrUpdateStream(ctx, c.snapshotStream())
	}
	return err
}

// Log is one node's access to the log. One goroutine at a time may write, and any number may
// follow.
type Log struct {
	Config
	// ID is a random text that no other log has.
	ID string

	nc   *nats.Conn
	js   jetstream.JetStream
	id   string // of this process, in its claims: a node may come back under its name
	part int    // largest payload of a part

	snapshots jetstream.Stream // nil: none
	known     lastInfo
	counts    counters
	trouble   trouble

	term   uint64 // of this writer; 0: it is none
	last   uint64 // sequence of the newest message, as far as the writer knows
	number uint64 // of the newest entry
	buffer []byte
}

// ErrNoStream: the stream does not exist.
var ErrNoStream = errors.New("there is no such stream")

// Open returns the log of a stream that exists, and waits for the servers until ctx ends.
func Open(ctx context.Context, nc *nats.Conn, c Config) (*Log, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	stream, err := openStream(ctx, js, c.Stream)
	var snapshots jetstream.Stream
	if err == nil && c.Snapshots != "" {
		snapshots, err = openStream(ctx, js, c.Stream+SnapshotsSuffix)
	}
	if err != nil {
		return nil, err
	}
	id := stream.CachedInfo().Config.Metadata[idKey]
	if id == "" {
		return nil, fmt.Errorf("%w: the stream %s has no id", ErrForeign, c.Stream)
	}
	part := maxPart
	if most := int(nc.MaxPayload()); most > 0 {
		part = min(part, most-headRoom)
	}
	if part < headRoom {
		return nil, fmt.Errorf("the servers' max_payload of %d bytes is too small", nc.MaxPayload())
	}
	return &Log{Config: c, ID: id, nc: nc, js: js, snapshots: snapshots, id: nuid.Next(), part: part}, nil
}

// openStream returns a stream that exists.
func openStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	return again(ctx, &trouble{}, func(ctx context.Context) (jetstream.Stream, error) {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			err = final{fmt.Errorf("%w: %s", ErrNoStream, name)}
		}
		return stream, err
	})
}

// Clock returns how far the clock of the server that leads the stream is ahead of the one here, and
// how far off that may be.
func (l *Log) Clock(ctx context.Context) (ahead, within time.Duration, err error) {
	asked := time.Now()
	stream, err := l.js.Stream(ctx, l.Stream)
	if err != nil {
		return 0, 0, err
	}
	within = time.Since(asked) / 2
	return stream.CachedInfo().TimeStamp.Sub(asked.Add(within)), within, nil
}

// Head is the newest message of a log.
type Head struct {
	Sequence uint64 // of the message; 0: there is none
	Term     uint64
	Number   uint64 // of the newest entry that began
	Node     string // that made the claim, if it is one
	// Whole is the sequence of the newest message that ends an entry or is a claim: readers are
	// called with no later one. Those behind it are of an entry that its writer may never finish.
	Whole uint64
	part  part
}

// stored is a message as the leader of a stream answers it.
type stored struct {
	Sequence uint64 `json:"seq"`
	Data     []byte `json:"data"`
}

// message asks the leader of a stream for a message, until ctx ends; nil: there is none. A direct
// get would ask any of the servers, which may be behind.
func (l *Log) message(ctx context.Context, stream string, which map[string]any) (*stored, error) {
	request, err := json.Marshal(which)
	if err != nil {
		return nil, err
	}
	return again(ctx, &l.trouble, func(ctx context.Context) (*stored, error) {
		answer, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
		if err != nil {
			return nil, err
		}
		var found struct {
			Error   *jetstream.APIError `json:"error"`
			Message *stored             `json:"message"`
		}
		switch err := json.Unmarshal(answer.Data, &found); {
		case err != nil:
			return nil, err
		case found.Error == nil:
			return found.Message, nil
		case found.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
			return nil, nil
		}
		return nil, found.Error
	})
}

// Head returns the newest message, as the leader of the stream has it.
func (l *Log) Head(ctx context.Context) (Head, error) {
	m, err := l.message(ctx, l.Stream, map[string]any{"last_by_subj": l.Subject})
	if err != nil || m == nil { // Trim keeps the newest one
		return Head{}, err
	}
	p, err := parse(m.Data)
	if err != nil {
		return Head{}, fmt.Errorf("message %d of %s: %w", m.Sequence, l.Stream, err)
	}
	h := Head{Sequence: m.Sequence, Term: p.term, Number: p.number, Node: p.node(), Whole: m.Sequence, part: p}
	if p.kind == kindEntry && !p.last {
		h.Whole -= p.index + 1 // the parts of an entry lie side by side
	}
	return h, nil
}

// Claim makes this node the writer, and returns the sequence of its claim: what lies before it is
// all that there is, and will ever be, of the writers before it. The claim fails with ErrReplaced
// if another node was faster.
func (l *Log) Claim(ctx context.Context, node string) (sequence uint64, err error) {
	head, err := l.Head(ctx)
	if err != nil {
		return 0, err
	}
	number := head.Number
	if head.part.kind == kindEntry && !head.part.last {
		number-- // it was not finished
	}
	l.term, l.last, l.number = head.Term+1, head.Sequence, number
	if err := l.publish(ctx, part{kind: kindClaim, term: l.term, number: number, last: true, data: appendClaim(node, l.id)}); err != nil {
		l.term = 0
		return 0, err
	}
	return l.last, nil
}

// Append adds an entry behind the others, and returns its number, counting from 1, and the sequence
// of its last message. It returns once the servers have stored it, and gives up when ctx ends, or
// when they do not store one of its messages within 10 s. After an error other than ErrReplaced it
// is not known whether the entry is there: the node has to claim again. Only a writer may call it.
func (l *Log) Append(ctx context.Context, data []byte) (number, sequence uint64, err error) {
	if l.term == 0 {
		return 0, 0, ErrReplaced
	}
	if len(data) > MaxEntry {
		return 0, 0, fmt.Errorf("an entry of %d MiB: at most %d", len(data)>>20, MaxEntry>>20)
	}
	for index := uint64(0); ; index++ {
		n := min(len(data), l.part)
		p := part{kind: kindEntry, term: l.term, number: l.number + 1, index: index, last: n == len(data), data: data[:n]}
		if err := l.publish(ctx, p); err != nil {
			l.term = 0
			return 0, 0, err
		}
		if data = data[n:]; p.last {
			l.number++
			return l.number, l.last, nil
		}
	}
}

// Begin writes the first message of a log whose entries go on from a snapshot, at the sequence
// BaseSequence. No node can have begun with the log then: else the error is ErrReplaced.
func (l *Log) Begin(ctx context.Context) error {
	l.last = 0
	return l.publish(ctx, part{kind: kindBase, term: 1, last: true, data: []byte(l.id)})
}

// BaseSequence is the sequence that a snapshot has from which the entries of a log go on.
const BaseSequence = 1

// publish adds a message behind the newest one that this writer knows, and returns once the servers
// have it.
func (l *Log) publish(ctx context.Context, p part) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	l.buffer = p.append(l.buffer[:0])
	msg := &nats.Msg{Subject: l.Subject, Data: l.buffer, Header: nats.Header{
		jetstream.MsgIDHeader:           {nuid.Next()},
		jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(l.last, 10)},
	}}
	sequence, err := again(ctx, &l.trouble, func(ctx context.Context) (uint64, error) {
		sequence, err := l.send(ctx, msg, &p)
		if _, ended := errors.AsType[final](err); err != nil && !ended {
			l.counts.retries[retryKind(err)].Add(1)
		}
		return sequence, err
	})
	if err == nil {
		l.last = sequence
	}
	return err
}

// send makes one attempt to add a message.
func (l *Log) send(ctx context.Context, msg *nats.Msg, p *part) (sequence uint64, err error) {
	ack, err := l.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	if err == nil {
		return ack.Sequence, nil
	}
	if ctx.Err() == nil && !wrongSequence(err) {
		return 0, err
	}
	// It may be there, although the answer is lost, or was given to another attempt.
	head, headErr := l.Head(ctx)
	switch {
	case headErr != nil:
		return 0, errors.Join(err, headErr)
	case head.Sequence == l.last+1 && head.part.same(p):
		return head.Sequence, nil
	case head.Sequence > l.last:
		return 0, final{ErrReplaced}
	}
	return 0, err
}

// wrongSequence reports whether the servers have refused a message because of the sequence that it
// expects.
func wrongSequence(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Bounds are the messages that a log keeps.
type Bounds struct {
	First, Last uint64 // sequences; without a message First is Last+1
	Bytes       uint64
}

// Bounds returns the bounds of the log, as the leader of the stream has them.
func (l *Log) Bounds(ctx context.Context) (Bounds, error) {
	return again(ctx, &l.trouble, func(ctx context.Context) (Bounds, error) {
		stream, err := l.js.Stream(ctx, l.Stream)
		if err != nil {
			return Bounds{}, err
		}
		s := stream.CachedInfo().State
		if s.Msgs == 0 {
			s.FirstSeq = s.LastSeq + 1
		}
		return Bounds{First: s.FirstSeq, Last: s.LastSeq, Bytes: s.Bytes}, nil
	})
}

// OnSnapshot reports whether the log begins with the message of Begin.
func (l *Log) OnSnapshot(ctx context.Context) (bool, error) {
	m, err := l.message(ctx, l.Stream, map[string]any{"seq": BaseSequence})
	if err != nil || m == nil {
		return false, err
	}
	p, err := parse(m.Data)
	return p.kind == kindBase, err
}

// Trim removes the messages with lower sequences, but not the newest one.
func (l *Log) Trim(ctx context.Context, before uint64) error {
	stream, err := l.js.Stream(ctx, l.Stream)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSequence(min(before, stream.CachedInfo().State.LastSeq)))
}

// final is an error that another attempt does not change.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// trouble is the error of the last request to the servers; nil: they have answered.
type trouble struct{ last atomic.Pointer[error] }

// Trouble returns the error of the last request to the servers, while it is made again and again;
// nil: it was answered.
func (l *Log) Trouble() error {
	if err := l.trouble.last.Load(); err != nil {
		return *err
	}
	return nil
}

// again calls f, with a bound of time for each attempt, until it succeeds, fails for good, or ctx
// ends. t knows the error of the last attempt.
func again[T any](ctx context.Context, t *trouble, f func(context.Context) (T, error)) (T, error) {
	pause := minPause
	for {
		bounded, cancel := context.WithTimeout(ctx, attempt)
		v, err := f(bounded)
		cancel()
		if err == nil {
			t.last.Store(nil)
			return v, nil
		}
		if f, ok := errors.AsType[final](err); ok {
			return v, f.error
		}
		t.last.Store(&err)
		select {
		case <-ctx.Done():
			return v, errors.Join(context.Cause(ctx), err)
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}
