package agent

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/agent/spool"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/position"
)

// maxRecord bounds one acknowledged post of wire.
const maxRecord = 16 << 10

// anyTime lets positions be ahead of this machine's clock, which may be wrong until it is set from
// the network. The platform checks times by its own clock.
const anyTime = track.Millis(1) << 60

// defaultFleet is the fleet of positions that name none, so its name need not be sent.
const defaultFleet = "default"

// errClock refuses positions without a time while this machine's clock is not set: the platform
// would reject the time of their arrival for good.
var errClock = errors.New("t: missing, and the clock of this machine is not set yet: send it, or the position again later")

// source accepts positions by the rules of the platform. A position is accepted once it is on the
// disk. The methods are safe for concurrent use.
type source struct {
	name          string
	spool         *spool.Spool
	fleet, object string
	now           func() time.Time

	accepted, rejected, refused atomic.Uint64 // positions: kept, invalid, without room or clock
}

// Result is the outcome of the positions of one body.
type Result struct {
	Accepted int                `json:"accepted"` // on the disk
	Rejected []ingest.Rejection `json:"rejected"`
	Omitted  int                `json:"omitted,omitempty"` // further rejections, which are not listed
	ingest.Ignored
}

// decoder returns a decoder with the rules of the platform.
func (s *source) decoder() ingest.Decoder {
	return ingest.Decoder{Fleet: s.fleet, ID: s.object, Arrived: track.MillisOf(s.now()), MaxAhead: anyTime}
}

// take reads a body and keeps its valid positions, or none if the buffer fails. An error about the
// body is a *ingest.BodyError or ingest.ErrTooMany.
func (s *source) take(dec *ingest.Decoder, body []byte) (Result, error) {
	batch, err := dec.Decode(body)
	if err != nil {
		s.rejected.Add(1)
		return Result{}, err
	}
	return s.keep(batch)
}

func (s *source) keep(batch *ingest.Batch) (Result, error) {
	bodies, res, err := s.encode(batch)
	if err != nil {
		s.refused.Add(uint64(len(bodies)))
		return Result{}, err
	}
	if err := s.append(bodies); err != nil {
		return Result{}, err
	}
	return res, nil
}

// append writes records to the disk.
func (s *source) append(bodies [][]byte) error {
	if _, err := s.spool.Append(bodies...); err != nil {
		s.refused.Add(uint64(len(bodies)))
		return err
	}
	s.accepted.Add(uint64(len(bodies)))
	return nil
}

// encode returns the records of a batch, and the result after they are kept. With errClock the
// records are those of the positions that have a time, and the others are counted.
func (s *source) encode(batch *ingest.Batch) (bodies [][]byte, res Result, err error) {
	res = Result{Rejected: batch.Rejected, Omitted: batch.Omitted, Ignored: batch.Ignored}
	if res.Rejected == nil {
		res.Rejected = []ingest.Rejection{}
	}
	var arena []byte
	for i := range batch.Positions {
		p, at := &batch.Positions[i], len(arena)
		if p.Time < ingest.EarliestMillis { // that of arrival: others are rejected
			s.refused.Add(1)
			err = errClock
			continue
		}
		var wrong error
		if arena, wrong = appendPosition(arena, p); wrong != nil {
			arena = arena[:at]
			res.Rejected = append(res.Rejected, ingest.Rejection{Index: batch.Indexes[i], Reason: wrong.Error()})
			continue
		}
		bodies = append(bodies, arena[at:len(arena):len(arena)])
	}
	res.Accepted = len(bodies)
	s.rejected.Add(uint64(len(res.Rejected) + res.Omitted))
	return bodies, res, err
}

// appendPosition appends the fixed layout.
func appendPosition(dst []byte, p *track.Position) ([]byte, error) {
	out := position.Position{
		Fleet: p.Fleet, ID: p.ID, Time: int64(p.Time), Lon: p.Lon, Lat: p.Lat,
		Accuracy: position.Measure(p.Accuracy), Speed: position.Measure(p.Speed), Heading: position.Measure(p.Heading),
		Altitude: position.Measure(p.Altitude), Props: p.Props,
	}
	if out.Fleet == defaultFleet {
		out.Fleet = ""
	}
	at := len(dst)
	dst, err := position.Append(dst, &out)
	if n := len(dst) - at; err == nil && n > maxRecord {
		err = fmt.Errorf("props: the position takes %d bytes; the limit is %d", n, maxRecord)
	}
	return dst, err
}
