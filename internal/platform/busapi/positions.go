// Package busapi serves the platform's API on the message bus: positions come in on pos.>, requests
// for look-ups on paddock.search.*, and events go out on fence.>.
package busapi

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"paddock/bus"
	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/events"
	"paddock/internal/platform/events/tracing"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/subjects"
)

// PositionSubjects matches the subjects of positions: pos.<fleet>.<object>.
const PositionSubjects = "pos.>"

// Address splits host:port into the settings of [bus.Config], where port -1 takes a free port.
func Address(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%q is no port", text)
	}
	if port == 0 {
		port = -1
	}
	return host, port, nil
}

// Positions takes positions from the bus. The body of a message is one that POST /v1/positions
// takes. The fleet and the object of the subject apply to positions that name none, and to all
// positions where the publisher's user has publish permissions. A message with a reply subject is
// answered as HTTP answers, once its positions have been applied and their events published.
//
// A publisher cannot be made to wait, so neither does this door: positions for a full queue are
// dropped and counted as overloaded.
type Positions struct {
	pipeline *ingest.Pipeline
	local    *bus.Local
	sub      *bus.Subscription
	maxAhead track.Millis
	door     *doors.Door
}

// OpenPositions begins to take positions, which door counts. The caller must not use local for
// anything else that waits for the pipeline.
func OpenPositions(p *ingest.Pipeline, local *bus.Local, maxAhead track.Millis, door *doors.Door) (*Positions, error) {
	d := &Positions{pipeline: p, local: local, maxAhead: maxAhead, door: door}
	var err error
	if d.sub, err = subscribe(local, PositionSubjects, d.take); err != nil {
		return nil, err
	}
	return d, nil
}

// Close ends the subscription.
func (d *Positions) Close() error { return d.sub.Unsubscribe() }

// take is called by the goroutine that routes the messages.
func (d *Positions) take(msgs []bus.Msg) {
	for i := range msgs {
		reply := msgs[i].Reply
		batch, err := d.decode(&msgs[i])
		if err != nil {
			d.pipeline.Metrics.RejectBody()
			d.door.Reject("", "body: "+err.Error(), msgs[i].Data)
			d.answer(reply, map[string]string{"error": err.Error()})
			continue
		}
		var done func(ingest.Result)
		if reply != "" {
			done = func(r ingest.Result) { d.answer(reply, &r) }
		}
		if err := d.pipeline.TrySubmit(batch, done); err != nil {
			d.answer(reply, map[string]string{"error": err.Error()})
		}
	}
}

func (d *Positions) decode(m *bus.Msg) (*ingest.Batch, error) {
	fleet, id, err := ParsePositionSubject(m.Subject)
	if err != nil {
		return nil, err
	}
	dec := ingest.Decoder{Fleet: fleet, ID: id, Holds: m.Limited, MaxAhead: d.maxAhead, Door: d.door}
	dec.Arrived, dec.Present = d.pipeline.Times()
	batch, err := dec.Decode(m.Data)
	if err == nil && len(m.Header) > 0 {
		batch.Trace = tracing.FromMessage(m.Header)
	}
	return batch, err
}

// ParsePositionSubject reads pos.<fleet>.<object>. The token _ stands for an object that the body
// names, and for a fleet that the body or the default names.
func ParsePositionSubject(subject string) (fleet, id string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 3 {
		return "", "", fmt.Errorf("subject %q: positions come on pos.<fleet>.<object>", subject)
	}
	for i, to := range []*string{&fleet, &id} {
		token := tokens[i+1]
		if token == subjects.NoToken {
			continue
		}
		name, ok := subjects.ParseToken(token)
		if !ok {
			return "", "", fmt.Errorf("subject %q: %q is not a token: write bytes outside A-Z a-z 0-9 _ - as %%XX", subject, token)
		}
		if err := ingest.CheckName("subject", name); err != nil {
			return "", "", err
		}
		*to = name
	}
	return fleet, id, nil
}

// answer sends the answer to the reply subject of a message, unless the platform would receive it:
// the callback would run on the goroutine of the shard that answers, and occupy that shard for as
// long as other positions or requests arrive.
func (d *Positions) answer(reply string, v any) {
	if !Answerable(reply) {
		return
	}
	body, _ := events.PlainJSON(v) // these values always encode
	// It fails for a bad reply subject, or when the bus has ended: there is no receiver then.
	_ = d.local.Publish(reply, "", nil, body)
}
