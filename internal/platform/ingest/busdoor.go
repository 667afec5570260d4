package ingest

import (
	"fmt"
	"strings"
	"time"

	"paddock/bus"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/plainjson"
)

// PositionSubjects is where positions come in on the bus:
// pos.<fleet>.<object>.
const PositionSubjects = "pos.>"

// BusDoor takes positions from the bus. The body is what POST /v1/positions
// takes; fleet and object of the subject hold where it names none, and in any case where
// the publisher's user has permissions to publish. A message
// with a reply subject is answered as HTTP would be, once its positions have
// been applied and their events published.
//
// A bus has nobody to refuse to, so the door never waits: what finds a full
// queue is dropped and counted as overloaded.
type BusDoor struct {
	pipeline *Pipeline
	local    *bus.Local
	sub      *bus.Subscription
	maxAhead track.Millis
}

// OpenBusDoor begins to take positions. local must not be used for anything
// else that waits for the pipeline.
func (p *Pipeline) OpenBusDoor(local *bus.Local, maxAhead track.Millis) (*BusDoor, error) {
	d := &BusDoor{pipeline: p, local: local, maxAhead: maxAhead}
	sub, err := local.Subscribe(PositionSubjects, "", d.take)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", PositionSubjects, err)
	}
	d.sub = sub
	return d, nil
}

// Close takes no more.
func (d *BusDoor) Close() error { return d.sub.Unsubscribe() }

// take runs on the goroutine of whoever routed the messages.
func (d *BusDoor) take(msgs []bus.Msg) {
	for i := range msgs {
		reply := msgs[i].Reply
		batch, err := d.decode(&msgs[i])
		if err != nil {
			d.pipeline.Metrics.results[resultRejected].Add(1)
			d.answer(reply, map[string]string{"error": err.Error()})
			continue
		}
		var done func(Result)
		if reply != "" {
			done = func(r Result) { d.answer(reply, &r) }
		}
		if err := d.pipeline.TrySubmit(batch, done); err != nil {
			d.answer(reply, map[string]string{"error": err.Error()})
		}
	}
}

func (d *BusDoor) decode(m *bus.Msg) (*Batch, error) {
	fleet, id, err := ParsePositionSubject(m.Subject)
	if err != nil {
		return nil, err
	}
	dec := Decoder{Fleet: fleet, ID: id, Holds: m.Limited, Arrived: track.MillisOf(time.Now()), MaxAhead: d.maxAhead}
	return dec.Decode(m.Data)
}

// ParsePositionSubject reads pos.<fleet>.<object>. An object of _ is named by
// the body, a fleet of _ by the body or by default.
func ParsePositionSubject(subject string) (fleet, id string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 3 {
		return "", "", fmt.Errorf("subject %q: positions come on pos.<fleet>.<object>", subject)
	}
	for i, to := range []*string{&fleet, &id} {
		token := tokens[i+1]
		if token == events.NoToken {
			continue
		}
		name, ok := events.ParseToken(token)
		if !ok {
			return "", "", fmt.Errorf("subject %q: %q is no token: write bytes outside A-Z a-z 0-9 _ - as %%XX", subject, token)
		}
		if err := CheckName("subject", name); err != nil {
			return "", "", err
		}
		*to = name
	}
	return fleet, id, nil
}

// answer tells the sender, unless the reply would come back in by this door: its
// callback would then run on the goroutine of the shard that answers, and keep
// it from its positions for as long as others send theirs.
func (d *BusDoor) answer(reply string, v any) {
	if reply == "" || bus.Match(PositionSubjects, reply) {
		return
	}
	body, err := plainjson.Marshal(v)
	if err != nil {
		return // no value of this package fails to encode
	}
	// Fails for a bad reply subject or when the bus has ended: either way nobody
	// is left to tell.
	_ = d.local.Publish(reply, "", nil, body)
}
