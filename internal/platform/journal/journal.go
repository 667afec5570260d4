// Package journal keeps the platform's inputs on disk, in one order, and what follows from them.
//
// A record holds everything that was applied together: positions of any number of doors, changes,
// passed time. Append returns once the record is durable, and nothing is applied before that. What
// a record causes, its events, is derived: [Journal.Commit] adds it in pieces without waiting for
// the disk, since the same records always cause the same pieces. After a crash the reader of the
// records commits the missing ones. Checkpoints hold the state of a partition after some
// record, so that only later records are applied again.
//
// [Memory] and [Disk] pass one suite of tests. The disk's store is pebble, behind an interface as
// small as this, so nothing else of the program knows it.
package journal

import (
	"errors"
)

// Journal is an ordered log with what is derived from it. One goroutine at a time may call Append,
// Commit and the methods that remove; all may read.
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

	// Commit adds a piece of the results of a record. Pieces are committed in the order of Place.
	// It is not durable by itself: a loss of power may take the newest pieces, and no others.
	Commit(at Place, last bool, events []byte) error
	// Committed returns the place of the newest piece, and whether it is the last of its record.
	// Without pieces it is the last one of record 0.
	Committed() (at Place, last bool)
	// Pieces calls f for each piece from a place on, in order, until f fails. The bytes are valid
	// until f returns.
	Pieces(from Place, f func(at Place, events []byte) error) error

	// SaveCheckpoint keeps the state of a partition after a record, beside the one before it.
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

	// TrimRecords and TrimPieces remove what has a lower number.
	TrimRecords(before uint64) error
	TrimPieces(before uint64) error

	Close() error
}

// Place is the place of a piece: a record, and the piece's index among its results.
type Place struct {
	Number uint64
	Piece  uint32
}

// Value is bytes under a name.
type Value struct {
	Name  string
	Bytes []byte
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
)

// follows reports whether a piece at this place may follow the newest one.
func (at Place) follows(newest Place, last bool) bool {
	if last {
		return at.Number > newest.Number && at.Piece == 0
	}
	return at.Number == newest.Number && at.Piece == newest.Piece+1
}
