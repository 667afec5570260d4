package ingest

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"paddock/fence/track"
	"paddock/internal/platform/position"
)

// Binary decodes a body of pos.update into the batch, or rejects it with its index. The body is one
// position in the fixed layout of package position, or a CBOR map; the first byte tells the forms
// apart. Nothing of the body is kept.
func (d *Decoder) Binary(b *Batch, index int, body []byte) {
	p, err := d.binary(body, &b.Ignored)
	d.take(b, index, p, body, err)
}

func (d *Decoder) binary(body []byte, ignored *Ignored) (track.Position, error) {
	switch {
	case len(body) == 0:
		return track.Position{}, errors.New("body: empty")
	case len(body) > maxElementBytes:
		return track.Position{}, fmt.Errorf("longer than %d bytes", maxElementBytes)
	case body[0] == position.Version:
		return d.layout(body)
	case body[0]>>5 == cborMap:
		return d.cbor(body, ignored)
	}
	return track.Position{}, fmt.Errorf("body: begins with %#02x, neither %d for the fixed layout nor a CBOR map", body[0], position.Version)
}

// layout decodes the fixed layout.
func (d *Decoder) layout(body []byte) (track.Position, error) {
	in, err := position.Parse(body)
	if err != nil {
		return track.Position{}, err
	}
	if !utf8.Valid(in.Props) {
		return track.Position{}, errors.New("props: not valid UTF-8")
	}
	t, err := millis(float64(in.Time), strconv.FormatInt(in.Time, 10))
	if err != nil {
		return track.Position{ID: in.ID}, err
	}
	return d.measured(&in, t)
}

// measured checks a position with a time, which may be nil.
func (d *Decoder) measured(in *position.Position, t *track.Millis) (track.Position, error) {
	f := fields{id: &in.ID, lon: &in.Lon, lat: &in.Lat, t: t, props: in.Props}
	if in.Fleet != "" {
		f.fleet = &in.Fleet
	}
	var known [4]float64
	for i, m := range [...]struct {
		from position.Measure
		to   **float64
	}{{in.Accuracy, &f.accuracy}, {in.Speed, &f.speed}, {in.Heading, &f.heading}, {in.Altitude, &f.altitude}} {
		if m.from.Known {
			known[i] = float64(m.from.Value)
			*m.to = &known[i]
		}
	}
	return d.judge(&f)
}
