package streamlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// fetchMessages and fetchBytes bound what one request asks for.
	fetchMessages = 512
	fetchBytes    = 8 << 20
	// tailMessages and tailBytes bound the copies that wait for a reader. Further ones are dropped,
	// and asked for.
	tailMessages = 8192
	tailBytes    = 32 << 20
	// quiet is the time without a copy after which a reader asks whether it has missed one.
	quiet = 400 * time.Millisecond
)

// MaxEntry bounds an entry, in bytes.
const MaxEntry = 256 << 20

// Entry is an entry of the log, or the claim of a node.
type Entry struct {
	Sequence uint64    // of its last message
	Term     uint64    // of its writer
	Number   uint64    // counting from 1; of a claim, of the entry before it
	Time     time.Time // when the servers stored its last message, by their clock
	Node     string    // of a claim; else ""
	Base     bool      // the entries go on from a snapshot: see [Log.Begin]
	Data     []byte
}

// Follow calls f for all entries and claims behind a sequence, in order, until ctx ends or f fails,
// and returns that error. The error is ErrTrimmed if some are no longer kept, and ErrForeign if a
// message is of no log. Follow repeats requests that fail.
func (l *Log) Follow(ctx context.Context, after uint64, f func(*Entry) error) error {
	sub, err := l.nc.SubscribeSync(l.Copies + "." + l.Subject)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := sub.SetPendingLimits(tailMessages, tailBytes); err != nil {
		return err
	}
	r := &reader{log: l, next: after + 1, f: f}
	for {
		if err := r.fetch(ctx); err != nil {
			return err
		}
		if err := r.tail(ctx, sub); err != nil {
			return err
		}
	}
}

// reader puts messages together.
type reader struct {
	log  *Log
	next uint64 // sequence
	f    func(*Entry) error

	part  part   // the newest one
	entry []byte // the parts of an unfinished entry
}

// tail takes copies until one is missing, or none comes for a while.
func (r *reader) tail(ctx context.Context, sub *nats.Subscription) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, quiet)
		msg, err := sub.NextMsgWithContext(bounded)
		cancel()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			return nil // the next fetch shows whether something is missing
		case errors.Is(err, nats.ErrSlowConsumer):
			r.log.counts.gaps.Add(1)
			return nil
		case err != nil:
			return err
		}
		sequence, at, err := placeOf(msg)
		switch {
		case err != nil:
			return err
		case sequence < r.next:
			continue
		case sequence > r.next:
			r.log.counts.gaps.Add(1)
			return nil
		}
		if err := r.take(sequence, at, msg.Data); err != nil {
			return err
		}
	}
}

// placeOf returns the sequence and the time of a stored message.
func placeOf(msg *nats.Msg) (sequence uint64, at time.Time, err error) {
	if sequence, err = strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
		return 0, at, fmt.Errorf("%w: header %s: %w", ErrForeign, jetstream.SequenceHeader, err)
	}
	if at, err = time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer)); err != nil {
		return 0, at, fmt.Errorf("%w: header %s: %w", ErrForeign, jetstream.TimeStampHeaer, err)
	}
	return sequence, at, nil
}

// fetch asks for messages until the server that answers has no more.
func (r *reader) fetch(ctx context.Context) error {
	for {
		more, err := again(ctx, &r.log.trouble, func(context.Context) (bool, error) { return r.fetchSome(ctx) })
		if err != nil || !more {
			return err
		}
	}
}

// fetchSome asks for some messages, and reports whether there may be more. The servers have the
// time of an attempt for each message, so that f may take longer.
func (r *reader) fetchSome(ctx context.Context) (more bool, err error) {
	request, err := json.Marshal(map[string]any{
		"seq": r.next, "next_by_subj": r.log.Subject, "batch": fetchMessages, "max_bytes": fetchBytes,
	})
	if err != nil {
		return false, err
	}
	inbox := r.log.nc.NewRespInbox()
	sub, err := r.log.nc.SubscribeSync(inbox)
	if err != nil {
		return false, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := r.log.nc.PublishRequest("$JS.API.DIRECT.GET."+r.log.Stream, inbox, request); err != nil {
		return false, err
	}
	for {
		bounded, cancel := context.WithTimeout(ctx, attempt)
		msg, err := sub.NextMsgWithContext(bounded)
		cancel()
		if err != nil {
			return false, err
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
		case "204": // the end of the batch
			pending, _ := strconv.ParseUint(msg.Header.Get("Nats-Num-Pending"), 10, 64)
			return pending > 0, nil
		case "404":
			return false, nil
		default:
			return false, fmt.Errorf("%s: %s %s", r.log.Stream, status, msg.Header.Get("Description"))
		}
		sequence, at, err := placeOf(msg)
		switch {
		case err != nil:
			return false, final{err}
		case sequence < r.next: // of an answer that is given twice
			continue
		case sequence > r.next:
			return false, final{fmt.Errorf("%w: %s begins with %d, and %d is needed", ErrTrimmed, r.log.Stream, sequence, r.next)}
		}
		if err := r.take(sequence, at, msg.Data); err != nil {
			return false, final{err}
		}
	}
}

// take takes the next message, and passes on the entry that it completes.
func (r *reader) take(sequence uint64, at time.Time, data []byte) error {
	p, err := parse(data)
	if err != nil {
		return fmt.Errorf("message %d of %s: %w", sequence, r.log.Stream, err)
	}
	before := r.part
	r.part, r.next = p, sequence+1
	e := &Entry{Sequence: sequence, Term: p.term, Number: p.number, Time: at}
	if p.kind != kindEntry {
		r.entry = nil // of a writer that did not finish it
		e.Node, e.Base = p.node(), p.kind == kindBase
		return r.f(e)
	}
	if p.index > 0 && (before.kind != kindEntry || before.number != p.number || before.index+1 != p.index) {
		return fmt.Errorf("message %d of %s: %w: part %d of entry %d follows part %d of entry %d",
			sequence, r.log.Stream, ErrForeign, p.index, p.number, before.index, before.number)
	}
	if e.Data = p.data; p.index > 0 || !p.last {
		if len(r.entry)+len(p.data) > MaxEntry {
			return fmt.Errorf("message %d of %s: entry %d has more than %d MiB", sequence, r.log.Stream, p.number, MaxEntry>>20)
		}
		r.entry = append(r.entry, p.data...)
		if !p.last {
			return nil
		}
		e.Data, r.entry = r.entry, nil
	}
	return r.f(e)
}
