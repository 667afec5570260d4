package journal

import (
	"encoding/binary"
	"errors"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// Salvaged is the copy of a damaged journal. Records may be missing between others: Records passes
// on the remaining ones.
type Salvaged struct{ *Disk }

// OpenSalvaged opens a copy that Salvage has made.
func OpenSalvaged(dir string, log *slog.Logger) (*Salvaged, error) {
	d, err := Open(Options{Dir: dir, Logger: log})
	if err != nil {
		return nil, err
	}
	s := &Salvaged{d}
	err = s.Records(0, func(number uint64, _ []byte) error {
		if _, err := d.Get("trimmed"); errors.Is(err, ErrNotFound) {
			d.oldest = max(d.oldest, number)
		}
		return ErrEnough
	})
	if err != nil && !errors.Is(err, ErrEnough) {
		return nil, errors.Join(err, d.Close())
	}
	return s, nil
}

// Records implements [Journal].
func (s *Salvaged) Records(from uint64, f func(number uint64, record []byte) error) error {
	return s.walk(recordKey(from), func(key, value []byte) error { return f(binary.BigEndian.Uint64(key[1:]), value) })
}

// MarkLost puts pieces of lost events where pieces are missing between others, and returns the
// number of the events. The text is that of the pieces. Unless oldest is nil, it is the text of a
// piece before all others, if there may have been any: older is the number of their events then.
func (s *Salvaged) MarkLost(text, oldest []byte) (lost, older uint64, err error) {
	b := s.db.NewBatch()
	before := Piece{}
	err = s.Pieces(0, func(p Piece) error {
		if before.Count == 0 && p.First > 1 && oldest != nil {
			older = p.First - 1
			gap := Piece{Last: true, First: 1, Count: int(older), Time: p.Time, Events: oldest, Gap: true}
			if err := b.Set(pieceKey(1), appendPiece(nil, &gap), nil); err != nil {
				return err
			}
		}
		if before.Count > 0 && p.First > before.Next() {
			gap := Piece{
				At: before.At, Last: true, First: before.Next(), Count: int(p.First - before.Next()),
				Time: before.Time, Events: text, Gap: true,
			}
			lost += uint64(gap.Count)
			if err := b.Set(pieceKey(gap.First), appendPiece(nil, &gap), nil); err != nil {
				return err
			}
		}
		before = p
		before.Events = nil
		return nil
	})
	if err != nil {
		return 0, 0, errors.Join(err, b.Close())
	}
	if err := s.write(b, pebble.NoSync); err != nil {
		return 0, 0, err
	}
	return lost, older, s.findOldestEvent()
}

// Seal removes all records, as later states are saved as after the record with this number, and
// ends the events with a piece of lost ones, unless its text is nil. Everything is durable then.
func (s *Salvaged) Seal(number uint64, time int64, text []byte) error {
	if text != nil {
		last := s.Committed()
		gap := Piece{At: Place{Number: number}, Last: true, First: last.Next(), Count: 1, Time: max(last.Time, time), Events: text, Gap: true}
		if err := s.Commit(gap); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.newest = number
	s.mu.Unlock()
	return errors.Join(s.TrimRecords(number+1), s.Put(Value{"format", binary.AppendUvarint(nil, Format)}))
}
