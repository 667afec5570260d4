package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// recordVersion is the first byte of an encoded record, and tracedVersion that of one that ends
// with traces, see appendTraces.
const (
	recordVersion = 1
	tracedVersion = 2
)

// input is everything that a record applies, in its stored form: the fold of the same inputs, from
// the first one on, gives the same state and the same events.
type input struct {
	at        track.Millis
	stepping  uint64 // partitions that do postponed work, as bits
	options   []byte // of the tracker, see encodeOptions; nil: those before
	view      []byte // id of the fences; nil: those before
	removals  []removal
	handled   []Handled
	positions []track.Position
	traces    []traced
}

// encodeOptions returns the stored form of the tracker's options.
func encodeOptions(o track.Options) []byte {
	b, _ := json.Marshal(o) // numbers always encode
	return b
}

func decodeOptions(b []byte) (o track.Options, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // of a newer program
	err = d.Decode(&o)
	return o, err
}

var errRecord = errors.New("ingest: not a valid record")

// Flags of a position.
const (
	hasAccuracy = 1 << iota
	hasSpeed
	hasHeading
	hasProps
	onGrid // of 1e-7 degrees: longitude and latitude are whole numbers
	hasAltitude
)

// appendInput appends the stored form of a record without its positions, which follow: their
// number, and each by appendPosition. Numbers are varints, others least byte first.
func appendInput(b []byte, in *input) []byte {
	b = append(b, recordVersion)
	b = binary.AppendVarint(b, int64(in.at))
	b = binary.LittleEndian.AppendUint64(b, in.stepping)
	b = appendBytes(appendBytes(b, in.options), in.view)
	b = binary.AppendUvarint(b, uint64(len(in.removals)))
	for _, r := range in.removals {
		b = journal.AppendText(journal.AppendText(b, r.fleet), r.id)
	}
	b = binary.AppendUvarint(b, uint64(len(in.handled)))
	for _, h := range in.handled {
		b = appendHandled(b, h)
	}
	return b
}

// appendBytes appends bytes of which nil is not the same as none.
func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(v))+1), v...)
}

// appendPosition appends a position of a record whose time is at.
func appendPosition(b []byte, p *track.Position, at track.Millis) []byte {
	flags := byte(0)
	for _, m := range []struct {
		set  bool
		flag byte
	}{{p.Accuracy.Known, hasAccuracy}, {p.Speed.Known, hasSpeed}, {p.Heading.Known, hasHeading}, {p.Altitude.Known, hasAltitude}, {p.Props != nil, hasProps}} {
		if m.set {
			flags |= m.flag
		}
	}
	lon, lat := int64(math.Round(p.Lon*coordScale)), int64(math.Round(p.Lat*coordScale))
	if float64(lon)/coordScale == p.Lon && float64(lat)/coordScale == p.Lat {
		flags |= onGrid
	}
	b = append(b, flags)
	b = journal.AppendText(journal.AppendText(b, p.Fleet), p.ID)
	if flags&onGrid != 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(lon)))
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(lat)))
	} else {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lon))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lat))
	}
	b = binary.AppendVarint(b, int64(p.Time-at))
	for _, m := range []track.Measure{p.Accuracy, p.Speed, p.Heading, p.Altitude} {
		if m.Known {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(m.Value))
		}
	}
	if p.Props != nil {
		b = journal.AppendText(b, string(p.Props))
	}
	return b
}

// parseInput reads the stored form of a record. Its texts do not share memory with b.
func parseInput(b []byte) (*input, error) {
	r := newReader(b)
	version := r.Byte()
	if version != recordVersion && version != tracedVersion {
		return nil, errRecord
	}
	in := &input{at: track.Millis(r.Int()), stepping: r.Uint64()}
	in.options, in.view = r.bytes(), r.bytes()
	for range r.Count(2) {
		in.removals = append(in.removals, removal{fleet: r.Text(), id: r.Text()})
	}
	for range r.Count(19) {
		in.handled = append(in.handled, r.handled())
	}
	for range r.Count(12) {
		in.positions = append(in.positions, r.position(in.at))
	}
	if version == tracedVersion {
		in.traces = r.traces(len(in.positions))
	}
	if r.Failed || len(r.Rest) > 0 {
		return nil, errRecord
	}
	return in, nil
}

// Positions returns the positions of a stored record, with the time of the record, which is the
// time of their arrival. They do not share memory with it.
func Positions(record []byte) (at track.Millis, positions []track.Position, err error) {
	in, err := parseInput(record)
	if err != nil {
		return 0, nil, err
	}
	return in.at, in.positions, nil
}

// inputReader reads the fields of a record.
type inputReader struct {
	journal.Fields
	fleet string // of the last position: mostly the next one has the same
}

func newReader(b []byte) *inputReader { return &inputReader{Fields: journal.Fields{Rest: b}} }

// bytes reads what appendBytes wrote.
func (r *inputReader) bytes() []byte {
	n := r.Uint()
	if n == 0 {
		return nil
	}
	return append([]byte{}, r.Take(n-1)...)
}

func (r *inputReader) position(at track.Millis) track.Position {
	flags := r.Byte()
	if fleet := r.Take(r.Uint()); string(fleet) != r.fleet {
		r.fleet = string(fleet)
	}
	p := track.Position{Fleet: r.fleet, ID: r.Text(), Arrived: at}
	if flags&onGrid != 0 {
		p.Lon, p.Lat = float64(int32(r.Uint32()))/coordScale, float64(int32(r.Uint32()))/coordScale
	} else {
		p.Lon = math.Float64frombits(r.Uint64())
		p.Lat = math.Float64frombits(r.Uint64())
	}
	p.Time = at + track.Millis(r.Int())
	for _, m := range []struct {
		flag byte
		to   *track.Measure
	}{{hasAccuracy, &p.Accuracy}, {hasSpeed, &p.Speed}, {hasHeading, &p.Heading}, {hasAltitude, &p.Altitude}} {
		if flags&m.flag != 0 {
			*m.to = track.Measure{Value: math.Float32frombits(r.Uint32()), Known: true}
		}
	}
	if flags&hasProps != 0 {
		p.Props = json.RawMessage(r.Text())
	}
	return p
}
