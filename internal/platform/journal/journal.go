// Package journal keeps the platform's inputs on disk, in one order, and what follows from them.
//
// A record holds everything that was applied together: positions of any number of interfaces,
// changes, passed time. Append returns once the record is durable, and nothing is applied before
// that. What a record causes, its events, is derived: [Journal.Commit] adds it in pieces without
// waiting for the disk, since the same records always cause the same pieces. After a crash the
// reader of the records commits the missing ones. Checkpoints hold the state of a partition after
// some record, so that only later records are applied again.
//
// [Memory] and [Disk] pass one suite of tests. [Disk] stores in pebble. Outside of tests no other
// package uses pebble.
package journal

import (
	"errors"
)

// Journal is an ordered log with what is derived from it. One goroutine at a time may call Append,
// and one, beside it, Commit and the methods that trim; all may read, and store values under names
// of their own.
type Journal interface {
	// Append adds a record behind the others and returns its number. The first one is 1. When it
	// returns without an error, the record survives a loss of power.
	Append(record []byte) (number uint64, err error)
	// Records calls f for each record with this number or a higher one, in order, until f fails.
	// Its bytes are valid until f returns.
	Records(from uint64, f func(number uint64, record []byte) error) error
	// Bounds returns the numbers of the oldest record that is kept and of the newest one. Without
	// records newest is oldest-1.
	Bounds() (oldest, newest uint64)

	// Commit adds a piece of the results of a record. The piece must follow the newest one, or the
	// error is ErrOrder. It is not durable by itself: a loss of power may take the newest pieces,
	// and no others.
	Commit(p Piece) error
	// Committed returns the newest piece, without its events. If there was none yet, it is the last
	// one of record 0, and cursor 1 is next.
	Committed() Piece
	// Pieces calls f for each piece from the one that holds a cursor on, in order, until f fails.
	// The bytes are valid until f returns.
	Pieces(from uint64, f func(p Piece) error) error
	// OldestEvent returns the cursor of the oldest event that is kept, or of the next one.
	OldestEvent() uint64

	// SaveCheckpoint keeps the state of a partition after a record, beside the one before it. It is
	// not durable by itself.
	SaveCheckpoint(partition int, number uint64, state []byte) error
	// Checkpoints returns the kept states of a partition, at most two, the newest one first.
	Checkpoints(partition int) ([]Checkpoint, error)

	// Put stores values, all or none of them, durably. Get returns one, or ErrNotFound.
	Put(values ...Value) error
	Get(name string) ([]byte, error)
	// Names returns the names that begin with a prefix, in order. Remove removes values; a loss of
	// power may bring them back.
	Names(prefix string) ([]string, error)
	Remove(names ...string) error
	// Change removes the values of spans, and then stores values: all of it or nothing. It is not
	// durable by itself: a loss of power may take the newest changes, and no others.
	Change(remove []Span, put ...Value) error
	// Values calls f for each value whose name begins with a prefix, in order of names, from one
	// on, until f fails. The bytes are valid until f returns.
	Values(prefix, from string, f func(v Value) error) error

	// TrimRecords removes the records with lower numbers, and TrimPieces the pieces whose events
	// all have lower cursors. The newest piece stays.
	TrimRecords(before uint64) error
	TrimPieces(before uint64) error

	Close() error
}

// Place is the place of a piece: a record, and the piece's index among its results.
type Place struct {
	Number uint64
	Piece  uint32
}

// Piece is a part of the results of a record: some of its events.
type Piece struct {
	At     Place
	Last   bool   // of its record
	First  uint64 // cursor of its first event, counting from 1
	Count  int    // of its events
	Time   int64  // of its record, in milliseconds since 1970
	Events []byte // in the caller's form
	// Gap says that the events are lost. Events tells why, in the caller's form. If their number is
	// unknown, Count is 1.
	Gap bool
}

// Next returns the cursor of the first event behind the piece.
func (p *Piece) Next() uint64 { return p.First + uint64(p.Count) }

// Value is bytes under a name.
type Value struct {
	Name  string
	Bytes []byte
}

// Span is the names from From on, below To.
type Span struct{ From, To string }

// Only returns the span of one name.
func Only(name string) Span { return Span{name, name + "\x00"} }

// PrefixEnd returns the first name behind all names with a prefix. The prefix has at least one byte
// below 255.
func PrefixEnd(prefix string) string {
	last := len(prefix) - 1
	for prefix[last] == 255 {
		last--
	}
	return prefix[:last] + string([]byte{prefix[last] + 1})
}

// Checkpoint is the state of a partition after a record.
type Checkpoint struct {
	Number uint64
	State  []byte
}

// The errors of a journal.
var (
	// ErrNotFound: no value has this name.
	ErrNotFound = errors.New("journal: not found")
	// ErrOrder: a piece was committed out of order.
	ErrOrder = errors.New("journal: a piece is out of order")
	// ErrLocked: another process has the directory.
	ErrLocked = errors.New("journal: in use by another process")
	// ErrNewer: the directory was written by a newer program.
	ErrNewer = errors.New("journal: written by a newer program")
	// ErrDamaged: the files are damaged. Nothing is written any more.
	ErrDamaged = errors.New("journal: damaged")
	// ErrFailed: a write has failed before. Nothing is written any more, as it is not known what
	// the disk holds.
	ErrFailed = errors.New("journal: a write has failed")
	// ErrTooLarge: the log of a cluster does not take a change of this size. Nothing was stored.
	ErrTooLarge = errors.New("the change is too large for a cluster")
	// ErrEnough is no fault: a function that is called for records, pieces or values returns it to
	// end the walk, which returns it to the caller.
	ErrEnough = errors.New("enough")
)

// After reports whether the piece has a later place than another one.
func (p *Piece) After(other *Piece) bool {
	if p.At.Number != other.At.Number {
		return p.At.Number > other.At.Number
	}
	return !other.Last && p.At.Piece > other.At.Piece
}

// follows reports whether a piece may follow the newest one.
func (p *Piece) follows(newest *Piece) bool {
	if p.Count < 1 || p.First != newest.Next() {
		return false
	}
	if newest.Last {
		return p.At.Number > newest.At.Number && p.At.Piece == 0
	}
	return p.At == Place{newest.At.Number, newest.At.Piece + 1}
}

// noPiece is Committed before the first piece.
var noPiece = Piece{Last: true, First: 1}
