package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"paddock/fence/track"
	"paddock/internal/platform/doors"
)

// Format is the form of a body with positions.
type Format uint8

const (
	// Detect decides by the body: an array, one object (a position, a Feature or a
	// FeatureCollection), or else one object a line.
	Detect Format = iota
	// Lines is newline-delimited JSON, in which a bad line is rejected alone.
	Lines
)

// Decoder decodes the positions of a body. Its fields are defaults for every position.
type Decoder struct {
	Format Format

	Fleet string // fleet of a position that names none; "" means default
	ID    string // id of a position that names none; "" means that one is required
	// Holds makes Fleet and ID mandatory, where they are not "": a position with another value is
	// rejected.
	Holds bool
	// Sees, if set, reports whether the sender may send positions of a fleet. Others are rejected.
	Sees func(fleet string) bool
	// Arrived is the default time of a position, and Present the time that MaxAhead counts from,
	// see [Pipeline.Times]. A Present of 0 is Arrived.
	Arrived, Present track.Millis

	// MaxAhead bounds the distance of a position's time after Present, in milliseconds. Without it
	// one wrong clock would make all later fixes of an object late.
	MaxAhead track.Millis

	// Door is that of the batches, and keeps the rejections. Nil: none does.
	Door *doors.Door

	// The names of these values in GeoJSON Features.
	IDProperty   string // of the id; "" means "id"
	TimeProperty string // of the time; "" means "t"

	most int // elements of a body; 0 means maxPositions
}

// A BodyError refuses a body as a whole. Offset counts bytes from 0, or is -1.
type BodyError struct {
	Offset int64
	Reason string
}

func (e *BodyError) Error() string {
	if e.Offset < 0 {
		return e.Reason
	}
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// ErrTooMany refuses a body with more positions than maxPositions.
var ErrTooMany = fmt.Errorf("more than %d positions: send them in parts", maxPositions)

// maxPositions bounds the elements of one body, because they take several times the memory of their
// text.
const maxPositions = 1_000_000

// Decode decodes all positions of a body. An element that is not an acceptable position, or a line
// that is not JSON, is rejected alone, with its index. A body that is not JSON at all returns a
// *BodyError, and one with too many elements ErrTooMany.
func (d *Decoder) Decode(body []byte) (*Batch, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	b := &Batch{Door: d.Door}
	switch {
	case len(trimmed) == 0:
		return nil, &BodyError{Offset: -1, Reason: "empty body: send a position, an array, a GeoJSON Feature or FeatureCollection, or one JSON object a line"}
	case d.Format == Lines:
		return b, d.lines(b, body)
	case trimmed[0] == '[':
		return b, d.array(b, body)
	case json.Valid(trimmed):
		return b, d.value(b, trimmed)
	case bytes.IndexByte(bytes.TrimRight(trimmed, " \t\r\n"), '\n') < 0:
		return nil, syntaxError(trimmed)
	default:
		return b, d.lines(b, body)
	}
}

// lines decodes one position a line. Empty lines do not count.
func (d *Decoder) lines(b *Batch, body []byte) error {
	index := 0
	for line := range bytes.SplitSeq(body, []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if index == cmp.Or(d.most, maxPositions) {
			return ErrTooMany
		}
		d.one(b, index, line)
		index++
	}
	return nil
}

// value decodes a body that is one JSON value.
func (d *Decoder) value(b *Batch, body []byte) error {
	var head struct {
		Type     string          `json:"type"`
		Features json.RawMessage `json:"features"`
	}
	if json.Unmarshal(body, &head) == nil && head.Type == "FeatureCollection" {
		if len(head.Features) == 0 || head.Features[0] != '[' {
			return &BodyError{Offset: -1, Reason: "FeatureCollection without an array features"}
		}
		return d.array(b, head.Features)
	}
	d.one(b, 0, body)
	return nil
}

// array decodes one position an element.
func (d *Decoder) array(b *Batch, body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	if _, err := dec.Token(); err != nil {
		return syntaxError(body)
	}
	var raw json.RawMessage // one buffer: no element is kept
	for i := 0; dec.More(); i++ {
		if i == cmp.Or(d.most, maxPositions) {
			return ErrTooMany
		}
		if err := dec.Decode(&raw); err != nil {
			return syntaxError(body)
		}
		d.one(b, i, raw)
	}
	if _, err := dec.Token(); err != nil {
		return syntaxError(body)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &BodyError{Offset: dec.InputOffset(), Reason: "something follows the array"}
	}
	return nil
}

// syntaxError returns the syntax error in a body that is not JSON.
func syntaxError(body []byte) error {
	var v any
	err := json.Unmarshal(body, &v)
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &BodyError{Offset: se.Offset, Reason: "malformed JSON: " + se.Error()}
	}
	return &BodyError{Offset: -1, Reason: "malformed JSON"}
}

// one decodes one element into the batch, or rejects it.
func (d *Decoder) one(b *Batch, index int, raw []byte) {
	p, err := d.position(raw, &b.Ignored)
	d.take(b, index, p, raw, err)
}

// take adds a position to the batch, or rejects it. input is what it was decoded from.
func (d *Decoder) take(b *Batch, index int, p track.Position, input []byte, err error) {
	if err == nil {
		err = d.held(&p)
	}
	if p.Time != 0 {
		d.watchClock(&p)
	}
	if err != nil {
		b.reject(index, err.Error())
		d.Door.Reject(p.ID, err.Error(), input)
		return
	}
	if d.ID != "" && p.ID != d.ID || d.Fleet != "" && p.Fleet != d.Fleet {
		b.Renamed++
	}
	b.accept(index, p)
}

// present returns the time that times of positions are compared with.
func (d *Decoder) present() track.Millis { return cmp.Or(d.Present, d.Arrived) }

// watchClock tells the door of a position whose time is far from its arrival.
func (d *Decoder) watchClock(p *track.Position) {
	if p.Time == d.Arrived {
		return // it may have none of its own
	}
	by := p.Time - d.present()
	if by <= track.Millis(doors.ClockAhead.Milliseconds()) && by >= -track.Millis(doors.ClockBehind.Milliseconds()) {
		return
	}
	if d.Door == nil || d.Sees != nil && !d.Sees(p.Fleet) {
		return
	}
	const most = track.Millis(math.MaxInt64 / time.Millisecond)
	d.Door.Clock(p.Fleet, p.ID, time.Duration(min(max(by, -most), most))*time.Millisecond)
}

// held returns an error if a position is not one of the sender, or contradicts a subject that is
// mandatory.
func (d *Decoder) held(p *track.Position) error {
	const holds = "%s: %.64q is not %.64q of the subject, which holds where a user has publish permissions"
	switch {
	case d.Sees != nil && !d.Sees(p.Fleet):
		return fmt.Errorf("fleet: the key is not for the fleet %.64q", p.Fleet)
	case !d.Holds:
	case d.Fleet != "" && p.Fleet != d.Fleet:
		return fmt.Errorf(holds, "fleet", p.Fleet, d.Fleet)
	case d.ID != "" && p.ID != d.ID:
		return fmt.Errorf(holds, "id", p.ID, d.ID)
	}
	return nil
}

const maxElementBytes = 64 << 10

// position decodes one element, and records its unknown members.
func (d *Decoder) position(raw []byte, ignored *Ignored) (track.Position, error) {
	if len(raw) > maxElementBytes {
		return track.Position{}, fmt.Errorf("longer than %d bytes", maxElementBytes)
	}
	if !utf8.Valid(raw) {
		return track.Position{}, errors.New("not valid UTF-8")
	}
	var e element
	if err := json.Unmarshal(raw, &e); err != nil {
		return track.Position{}, describe(err)
	}
	if e.Type == "Feature" {
		ignored.look(raw, featureMembers)
		return d.feature(&e)
	}
	ignored.look(raw, positionMembers)
	if e.Type != "" && e.Geometry != nil {
		return track.Position{}, fmt.Errorf("type %q is neither a position nor a Feature", e.Type)
	}
	return d.build(&e)
}

// describe returns an error of encoding/json without the names of Go's types.
func describe(err error) error {
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if te.Field == "" {
			return fmt.Errorf("a position is a JSON object, not %s", article(te.Value))
		}
		if n, ok := strings.CutPrefix(te.Value, "number "); ok {
			return fmt.Errorf("%s: %.32s is out of range", te.Field, n)
		}
		return fmt.Errorf("%s: %s, not %s", te.Field, wanted(te.Type.Kind().String()), article(te.Value))
	}
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("malformed JSON: %s at byte %d", se.Error(), se.Offset)
	}
	return errors.New("malformed JSON: " + err.Error())
}

func wanted(kind string) string {
	switch kind {
	case "string":
		return "must be a string"
	case "float64":
		return "must be a number"
	case "struct", "map":
		return "must be an object"
	}
	return "has the wrong type"
}

func article(value string) string {
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "a boolean"
	}
	return "a " + value
}
