// Package doors keeps, for each interface that takes positions, what became of them: counts, and
// the last rejections with their reasons. The readers of the formats are in package format, the
// sources that this process asks for positions in package source.
package doors

import (
	"bytes"
	"encoding/hex"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Kept is the number of rejections that a door keeps.
const Kept = 20

// Bounds of what a door keeps of each.
const (
	maxInput  = 256 // bytes of an input
	maxBinary = 64  // bytes of an input that is not text, written in hexadecimal digits
	maxReason = 256
	maxObject = 64
)

// Class is the kind of a rejection, for counting.
type Class uint8

// The classes. A rejection for the value of a field has that of the field, one that names no field
// is of the body.
const (
	Other Class = iota
	Body        // what came is no message of the format
	ID
	Fleet
	Place // lat, lon, or both
	Time
	Measure // accuracy, speed, heading, altitude
	Props
	NoFix     // the device says that its place is not valid
	Encrypted // and this process has no keys
	Checksum
	Full       // the object is new, and there are too many
	Overloaded // queues are full, the disk is full, or the process ends
	classes
)

var classNames = [classes]string{
	"other", "body", "id", "fleet", "place", "time", "measure", "props", "no_fix", "encrypted", "checksum", "full", "overloaded",
}

func (c Class) String() string { return classNames[c] }

// classOf maps the fields of reasons, by the last part of their names, to classes.
var classOf = map[string]Class{
	"body": Body, "_type": Body, "id": ID, "device_id": ID, "uniqueid": ID, "veh": ID, "oper": ID, "deviceid": ID, "fleet": Fleet,
	"lat": Place, "lon": Place, "long": Place, "latitude": Place, "longitude": Place, "geometry": Place, "location": Place,
	"t": Time, "tst": Time, "timestamp": Time, "fixtime": Time,
	"accuracy": Measure, "speed": Measure, "heading": Measure, "altitude": Measure, "speed_unit": Measure,
	"acc": Measure, "vel": Measure, "cog": Measure, "alt": Measure, "course": Measure, "spd": Measure, "hdg": Measure,
	"props": Props, "valid": NoFix, "encrypted": Encrypted, "checksum": Checksum,
}

// fieldOf returns the field that a reason begins with, or "".
func fieldOf(reason string) string {
	field, _, found := strings.Cut(reason, ":")
	if !found || len(field) > maxObject || strings.ContainsAny(field, " \"") {
		return ""
	}
	return field
}

func classify(field string) Class {
	if field == "" {
		return Body
	}
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		field = field[i+1:]
	}
	return classOf[strings.ToLower(field)]
}

// Rejection is one position, or one body, that was not accepted.
type Rejection struct {
	At     time.Time `json:"t"`
	Object string    `json:"object,omitempty"` // "": unknown
	Field  string    `json:"field,omitempty"`  // that the reason names; "": none
	Reason string    `json:"reason"`
	Input  string    `json:"input,omitempty"` // its beginning; hex: and digits if it is not text
}

// Door counts the positions of one interface and keeps its last rejections. The methods are safe
// for concurrent use, and do nothing for a nil Door.
type Door struct {
	name                              string
	accepted, late, outliers, ignored atomic.Uint64
	rejected                          [classes]atomic.Uint64

	mu     sync.Mutex
	source func() any  // nil: none
	last   []Rejection // a ring of at most Kept
	next   int         // the oldest, once the ring is full
	clocks []Clock     // at most maxClocks, and one
}

// Count counts positions by what the fold made of them.
func (d *Door) Count(accepted, late, outliers int) {
	if d == nil {
		return
	}
	d.accepted.Add(uint64(accepted))
	d.late.Add(uint64(late))
	d.outliers.Add(uint64(outliers))
}

// Ignore counts messages that are no positions.
func (d *Door) Ignore(messages int) {
	if d != nil && messages > 0 {
		d.ignored.Add(uint64(messages))
	}
}

// Reject notes a rejection for a reason that begins with a field and a colon. object may be "",
// input nil. input must not have a key in it.
func (d *Door) Reject(object, reason string, input []byte) {
	if d != nil {
		d.note(classify(fieldOf(reason)), object, reason, input)
	}
}

// Refuse notes a position that found no room.
func (d *Door) Refuse(class Class, object, reason string) {
	if d != nil {
		d.note(class, object, reason, nil)
	}
}

// Refused counts positions that found no room, beyond the ones that Refuse lists.
func (d *Door) Refused(class Class, positions int) {
	if d != nil {
		d.rejected[class].Add(uint64(positions))
	}
}

func (d *Door) note(class Class, object, reason string, input []byte) {
	d.rejected[class].Add(1)
	r := Rejection{
		At: time.Now().UTC().Truncate(time.Millisecond), Object: cut(object, maxObject), Field: fieldOf(reason), Reason: cut(reason, maxReason), Input: shown(input),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.last) < Kept {
		d.last = append(d.last, r)
		return
	}
	d.last[d.next] = r
	d.next = (d.next + 1) % Kept
}

// cut shortens a text to a number of bytes, at the end of a character. The result is valid UTF-8
// and shares no memory with a longer text.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.Clone(s[:most])
}

// shown returns the beginning of an input as text.
func shown(input []byte) string {
	head := input[:min(len(input), maxInput)]
	for range utf8.UTFMax - 1 { // of a character that was cut
		if len(head) < len(input) && !utf8.Valid(head) {
			head = head[:len(head)-1]
		}
	}
	binary := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' && c != '\r' }
	if !utf8.Valid(head) || bytes.ContainsFunc(head, binary) {
		return "hex:" + hex.EncodeToString(input[:min(len(input), maxBinary)])
	}
	return string(head)
}

// Status is the state of a door.
type Status struct {
	Name     string            `json:"name"`
	Accepted uint64            `json:"accepted"`
	Late     uint64            `json:"late"`
	Outliers uint64            `json:"outliers"`
	Ignored  uint64            `json:"ignored"`
	Rejected uint64            `json:"rejected"`
	Reasons  map[string]uint64 `json:"reasons"`          // the rejected ones by class, without zeros
	Last     []Rejection       `json:"last"`             // the newest first
	Source   any               `json:"source,omitempty"` // state of the connection, if this process made it
}

// Status returns the state of the door.
func (d *Door) Status() Status {
	s := Status{
		Name: d.name, Accepted: d.accepted.Load(), Late: d.late.Load(), Outliers: d.outliers.Load(), Ignored: d.ignored.Load(),
		Reasons: map[string]uint64{}, Last: []Rejection{},
	}
	for c := range classes {
		if n := d.rejected[c].Load(); n > 0 {
			s.Rejected += n
			s.Reasons[c.String()] = n
		}
	}
	d.mu.Lock()
	for i := range len(d.last) {
		s.Last = append(s.Last, d.last[(d.next+len(d.last)-1-i)%len(d.last)])
	}
	source := d.source
	d.mu.Unlock()
	if source != nil {
		s.Source = source()
	}
	return s
}
