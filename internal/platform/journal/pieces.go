package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

func pieceKey(first uint64) []byte { return binary.BigEndian.AppendUint64([]byte{keyPiece}, first) }

// Flags of a piece.
const (
	flagLast = 1 << iota
	flagGap
)

// appendPiece appends the value of a piece: its flags, the numbers of its record, piece and events,
// its time, and the events.
func appendPiece(b []byte, p *Piece) []byte {
	flags := byte(0)
	if p.Last {
		flags |= flagLast
	}
	if p.Gap {
		flags |= flagGap
	}
	b = binary.AppendUvarint(append(b, flags), p.At.Number)
	b = binary.AppendUvarint(b, uint64(p.At.Piece))
	b = binary.AppendUvarint(b, uint64(p.Count))
	b = binary.AppendVarint(b, p.Time)
	return append(b, p.Events...)
}

// parsePiece reads key and value of a piece, whose events share memory with the value.
func (d *Disk) parsePiece(key, value []byte) (p Piece, err error) {
	damaged := fmt.Errorf("%w: %s: an event piece", ErrDamaged, d.dir)
	if len(key) != 9 || len(value) == 0 {
		return p, damaged
	}
	p.First, p.Last, p.Gap = binary.BigEndian.Uint64(key[1:]), value[0]&flagLast != 0, value[0]&flagGap != 0
	var numbers [3]uint64
	rest := value[1:]
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return p, damaged
		}
		numbers[i], rest = v, rest[n:]
	}
	p.At, p.Count = Place{numbers[0], uint32(numbers[1])}, int(numbers[2])
	at, n := binary.Varint(rest)
	if n <= 0 {
		return p, damaged
	}
	p.Time, p.Events = at, rest[n:]
	return p, nil
}

// findOldestEvent finds the oldest piece, if there is one.
func (d *Disk) findOldestEvent() error {
	err := d.walk([]byte{keyPiece}, func(key, _ []byte) error {
		d.oldestEvent = binary.BigEndian.Uint64(key[1:])
		return ErrEnough
	})
	if errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}

// Commit implements [Journal].
func (d *Disk) Commit(p Piece) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !p.follows(&d.committed) {
		return ErrOrder
	}
	b := d.db.NewBatch()
	if err := b.Set(pieceKey(p.First), appendPiece(make([]byte, 0, 32+len(p.Events)), &p), nil); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := d.write(b, pebble.NoSync); err != nil {
		return err
	}
	p.Events = nil
	d.committed = p
	return nil
}

// Committed implements [Journal].
func (d *Disk) Committed() Piece {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.committed
}

// OldestEvent implements [Journal].
func (d *Disk) OldestEvent() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.oldestEvent
}

// Pieces implements [Journal].
func (d *Disk) Pieces(from uint64, f func(Piece) error) error {
	begin := pieceKey(from)
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyPiece}, UpperBound: []byte{keyPiece + 1}})
	if err != nil {
		return d.readError(err)
	}
	if it.SeekLT(pieceKey(from + 1)) {
		begin = append(begin[:0], it.Key()...)
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return d.readError(err)
	}
	return d.walk(begin, func(key, value []byte) error {
		p, err := d.parsePiece(key, value)
		if err != nil || p.Next() <= from {
			return err
		}
		return f(p)
	})
}

// TrimPieces implements [Journal].
func (d *Disk) TrimPieces(before uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.committed.First // stays
	err := d.Pieces(before, func(p Piece) error {
		last = p.First
		return ErrEnough
	})
	if err != nil && !errors.Is(err, ErrEnough) {
		return err
	}
	if last <= d.oldestEvent {
		return nil
	}
	b := d.db.NewBatch()
	if err := b.DeleteRange(pieceKey(0), pieceKey(last), nil); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := d.write(b, pebble.NoSync); err != nil {
		return err
	}
	d.oldestEvent = last
	return nil
}
