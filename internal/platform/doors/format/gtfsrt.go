package format

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"paddock/internal/platform/position"
)

// MaxEntities bounds the entities of a GTFS-realtime feed.
const MaxEntities = 200_000

// GTFS reads the VehiclePositions of a GTFS-realtime feed, versions 1 and 2: degrees, metres per
// second, seconds since 1970. The id of an object is that of the vehicle, else its label, else that
// of the entity; a vehicle without a time, or with 0, has that of the feed. The numbers of the
// fields are those of https://gtfs.org/documentation/realtime/proto/.
//
// Trip updates and alerts are ignored. The error is about a body that is no feed: nothing of it
// counts.
func GTFS(body []byte) (r Result, err error) {
	var feedTime uint64
	var entities [][]byte
	err = eachField(body, func(f field) error {
		switch f.number {
		case 1: // FeedMessage.header
			return eachField(f.bytes, func(h field) error {
				if h.number == 3 { // FeedHeader.timestamp
					feedTime = h.varint
				}
				return nil
			})
		case 2: // FeedMessage.entity
			if len(entities) == MaxEntities {
				return fmt.Errorf("body: more than %d entities", MaxEntities)
			}
			entities = append(entities, f.bytes)
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	for _, e := range entities {
		if err := r.entity(e, feedTime); err != nil {
			return Result{}, err
		}
	}
	return r, nil
}

// entity reads a FeedEntity.
func (r *Result) entity(body []byte, feedTime uint64) error {
	var id string
	var vehicle []byte
	deleted := false
	err := eachField(body, func(f field) error {
		switch f.number {
		case 1:
			id = string(f.bytes)
		case 2:
			deleted = f.varint != 0
		case 4:
			vehicle = f.bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	if vehicle == nil || deleted {
		r.Ignored++
		return nil
	}
	return r.vehicle(vehicle, id, feedTime)
}

// vehicle reads a VehiclePosition.
func (r *Result) vehicle(body []byte, entity string, feedTime uint64) error {
	var p position.Position
	var id, label, trip, route string
	var lat, lon *float64
	seconds := feedTime
	descriptor := func(to map[protowire.Number]*string) func(field) error {
		return func(f field) error {
			if at := to[f.number]; at != nil {
				*at = string(f.bytes)
			}
			return nil
		}
	}
	err := eachField(body, func(f field) error {
		switch f.number {
		case 1: // TripDescriptor
			return eachField(f.bytes, descriptor(map[protowire.Number]*string{1: &trip, 5: &route}))
		case 2: // Position
			return eachField(f.bytes, func(f field) error {
				v := float64(math.Float32frombits(f.fixed32))
				switch f.number {
				case 1:
					lat = &v
				case 2:
					lon = &v
				case 3:
					p.Heading = known(&v, 1)
				case 5:
					p.Speed = known(&v, 1)
				}
				return nil
			})
		case 5:
			seconds = cmp.Or(f.varint, feedTime) // feeds write 0 for an unknown time
		case 8: // VehicleDescriptor
			return eachField(f.bytes, descriptor(map[protowire.Number]*string{1: &id, 2: &label}))
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.ID, p.Props = cmp.Or(id, label, entity), props(map[string]any{"trip_id": trip, "route_id": route})
	if lat == nil && lon == nil {
		r.Ignored++
		return nil
	}
	if seconds != 0 {
		if p.Time, err = epoch(float64(seconds)); err != nil {
			r.reject(p.ID, "%v", err)
			return nil
		}
	}
	if r.place(&p, lon, lat) {
		r.Positions = append(r.Positions, p)
	}
	return nil
}

// field is one field of a protobuf message. Of the values the one of the wire type is set.
type field struct {
	number  protowire.Number
	varint  uint64
	fixed32 uint32
	bytes   []byte
}

var errProtobuf = errors.New("body: no protobuf message: is this a feed of VehiclePositions?")

// eachField calls f for each field of a message, in their order.
func eachField(message []byte, f func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errProtobuf
		}
		message = message[n:]
		out := field{number: number}
		switch kind {
		case protowire.VarintType:
			out.varint, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			out.fixed32, n = protowire.ConsumeFixed32(message)
		case protowire.BytesType:
			out.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errProtobuf
		}
		message = message[n:]
		if err := f(out); err != nil {
			return err
		}
	}
	return nil
}
