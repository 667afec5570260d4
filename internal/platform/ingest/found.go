package ingest

import (
	"errors"

	"paddock/fence/track"
	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/position"
)

// Found adds what a reader of another format has found in an input: its positions, its rejections
// and the number of its other messages. input is for the list of rejections and has no key in it;
// nil if there is nothing to show.
func (d *Decoder) Found(b *Batch, found *format.Result, input []byte) {
	b.Door = d.Door
	d.Door.Ignore(found.Ignored)
	index := len(b.Positions) + len(b.Rejected) + b.Omitted
	for i := range found.Positions {
		p, err := d.found(&found.Positions[i])
		d.take(b, index+i, p, input, err)
	}
	index += len(found.Positions)
	for i, r := range found.Rejected {
		b.reject(index+i, r.Reason)
		d.Door.Reject(r.Object, r.Reason, input)
	}
}

// found checks a position of another format. A time of 0 is that of arrival.
func (d *Decoder) found(in *position.Position) (track.Position, error) {
	if in.Time == 0 {
		return d.measured(in, nil)
	}
	t := track.Millis(in.Time)
	if t < EarliestMillis {
		return track.Position{ID: in.ID}, errors.New("t: before 1973: the clock of the device is not set")
	}
	return d.measured(in, &t)
}
