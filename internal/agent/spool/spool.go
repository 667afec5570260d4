// Package spool keeps records on disk until their receiver has acknowledged them. Records are
// numbered from 1 on and read in order, and no accepted record is lost, whenever the process dies.
//
// # Guarantees
//
// Append returns nil once its records are synced to the disk; concurrent calls share one sync. A
// record is read only after that, so a number never stands for two records. Ack records the highest
// number that the receiver has. Records that a crash leaves incomplete at the end were never
// accepted, and are cut off.
//
// Numbers never restart in a directory. A reader sees missing numbers, of records that were dropped
// at a bound, damaged or expired, from the numbers around them.
//
// # On disk
//
// A directory has these files:
//
//	lock    held by the process that uses it
//	id      32 hexadecimal digits, drawn at random
//	acked   two slots of 16 bytes: u64 number, u32 CRC-32C of that, and the first four
//	        bytes of the id; the higher of the whole ones counts; zeros are none. Without
//	        a slot of the id those with zeros in its place count.
//	FIRST.spool   a segment, named after its first number: 16 hexadecimal digits
//
// A segment is the 8 bytes "PDKSPOOL", a u32 version, which is 1, a u32 0, and records:
//
//	0   u32  length of the body
//	4   u32  CRC-32C of the number of the record (u64), and of all below
//	8   i64  when it was accepted, in milliseconds of the spool's clock
//	16  the body
//
// Integers are little-endian.
//
// The spool's clock runs while the spool is open, and stops while it is not. It begins at the time
// of the newest record, or at the Unix time if there is none. So records do not expire at once when
// the machine's clock is set.
package spool

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// MaxBody bounds a record, in bytes.
	MaxBody = 64 << 10
	// MinBytes is the least bound of a spool.
	MinBytes = 1 << 20
	// defaultBytes holds two days of one position a second.
	defaultBytes = 16 << 20
	// segmentsAtBound is the number of segments at the bound: dropping the oldest loses this
	// fraction of the records.
	segmentsAtBound = 16
)

// ErrFull refuses records for which there is no room.
var ErrFull = errors.New("the buffer is full")

// ErrTooLarge refuses records that are more at once than the buffer holds.
var ErrTooLarge = errors.New("too large for the buffer")

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("the buffer is closed")

// Options configure Open. Zeros stand for defaults.
type Options struct {
	Dir      string
	MaxBytes int64         // of all segments, 0: 16 MiB; at least MinBytes
	MaxAge   time.Duration // records that have waited longer, while the spool was open, expire; 0: never
	// Refuse makes Append fail at MaxBytes, with ErrFull. Otherwise the oldest segment is dropped.
	Refuse bool
	Logger *slog.Logger // nil is slog.Default
}

// Spool is an open directory. Its methods are safe for concurrent use.
type Spool struct {
	opts    Options
	log     *slog.Logger
	segment int64 // size from which on a new segment is begun
	id      [16]byte
	lock    *os.File
	mark    *mark
	writer  writer // owned by the goroutine that leads

	mu        sync.Mutex // guards all below; not held during writes
	settled   sync.Cond  // signals that a group was written
	gathering *group
	waiting   int64 // bytes of gathering
	leading   bool
	closed    bool
	segments  []*segment    // oldest first; never empty; the last one is appended to
	next      uint64        // number of the next record
	began     time.Time     // when it was opened
	base      int64         // the spool's clock then, in milliseconds
	unmarked  bool          // the last write of the mark has failed
	taken     uint64        // highest number that was read
	bytes     int64         // of all segments
	spoiled   bool          // the last segment is damaged, and gets no more records
	grown     chan struct{} // closed and replaced when records are added, or the spool is closed
	stats     Stats
}

// Stats holds the state and counts of a spool. All but the first three count since Open.
type Stats struct {
	Records uint64 // unacknowledged, gaps included
	Bytes   int64  // on disk
	Acked   uint64 // highest acknowledged number

	Accepted uint64 // records
	Syncs    uint64 // of the disk, for them
	Refused  uint64 // records refused at the bound
	Dropped  uint64 // unread records dropped to make room
	Expired  uint64 // records that expired unread
	Damaged  uint64 // segments with damage
	Unmarked uint64 // acknowledgements that could not be written at once
}

// Open opens the directory, and creates it if it is missing. It reads all segments.
func Open(o Options) (*Spool, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultBytes)
	if o.MaxBytes < MinBytes {
		return nil, fmt.Errorf("spool: %d bytes are less than %d", o.MaxBytes, MinBytes)
	}
	s := &Spool{
		opts: o, log: cmp.Or(o.Logger, slog.Default()), segment: o.MaxBytes / segmentsAtBound,
		gathering: new(group), grown: make(chan struct{}),
	}
	s.settled.L = &s.mu
	if err := s.open(); err != nil {
		s.release()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return s, nil
}

func (s *Spool) open() (err error) {
	if err = os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return err
	}
	if s.lock, err = lockFile(filepath.Join(s.opts.Dir, "lock")); err != nil {
		return err
	}
	if s.id, err = readID(filepath.Join(s.opts.Dir, "id")); err != nil {
		return err
	}
	if s.mark, err = openMark(filepath.Join(s.opts.Dir, "acked"), s.id); err != nil {
		return err
	}
	if err = s.load(); err != nil {
		return err
	}
	s.taken = s.mark.number
	s.began, s.base = time.Now(), time.Now().UnixMilli()
	for _, g := range s.segments {
		if g.records > 0 {
			s.base = g.newest
		}
	}
	return syncDir(s.opts.Dir)
}

// clock returns the time of the spool's clock, in milliseconds.
func (s *Spool) clock() int64 { return s.base + time.Since(s.began).Milliseconds() }

// load opens the segments, and begins to write after the last one.
func (s *Spool) load() error {
	segments, err := listSegments(s.opts.Dir)
	if err != nil {
		return err
	}
	s.next = s.mark.number + 1
	for i, g := range segments {
		whole, err := g.scan()
		if err != nil {
			return err
		}
		last := g.end() - 1
		if damaged := !whole && i < len(segments)-1; !whole && !damaged {
			if last, err = g.behind(); err != nil {
				return err
			}
			damaged = last >= g.end()
			whole = !damaged
			if whole {
				s.log.Info("spool: the end of the last segment was not completely written", "file", g.path, "at", g.size)
			}
		}
		if !whole {
			s.stats.Damaged++
			s.log.Error("spool: a segment is damaged; the rest of it is lost", "file", g.path, "at", g.size)
		}
		s.segments = append(s.segments, g)
		s.next = max(s.next, last+1)
	}
	if n := len(s.segments); n > 0 && s.segments[n-1].end() == s.next {
		err = s.writer.resume(s.segments[n-1])
	} else {
		var g *segment
		g, err = s.writer.begin(s.opts.Dir, s.next)
		s.segments = append(s.segments, g)
	}
	for _, g := range s.segments {
		if err == nil {
			s.bytes += g.size
		}
	}
	return err
}

// ID returns the random id of the directory, which Renew replaces.
func (s *Spool) ID() [16]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Renew generates another id, for a receiver that has nothing: no record on the disk is
// acknowledged any more. The numbers continue.
func (s *Spool) Renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id [16]byte
	_, _ = rand.Read(id[:])
	before := s.segments[0].first - 1
	err := s.mark.restart(id, before, func() error { return writeID(filepath.Join(s.opts.Dir, "id"), id) })
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.id, s.taken = id, before
	return nil
}

// Acked returns the highest acknowledged number.
func (s *Spool) Acked() uint64 { return s.mark.known() }

// Last returns the highest number that was given to a record.
func (s *Spool) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next - 1
}

// Stats returns the state and the counts.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Acked = s.mark.known()
	st.Records, st.Bytes = s.next-1-st.Acked, s.bytes
	return st
}

// Ack records that the receiver has all records up to number, and frees their room. A failed write
// is retried later; the room is freed after it.
func (s *Spool) Ack(number uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if number >= s.next {
		return fmt.Errorf("spool: %d was acknowledged, and %d is the last one", number, s.next-1)
	}
	err := s.mark.set(number)
	if err == nil {
		err = s.free()
	}
	if err != nil {
		s.stats.Unmarked++
		if !s.unmarked {
			s.log.Error("spool: an acknowledgement cannot be written; retrying while delivery continues", "error", err)
		}
	}
	s.unmarked = err != nil
	return nil
}

// free removes the segments whose records are all acknowledged. s.mu is held.
func (s *Spool) free() error {
	for len(s.segments) > 1 && s.segments[0].end() <= s.mark.number+1 {
		// Without the segment, only the mark has the number.
		if err := s.mark.sync(); err != nil {
			return err
		}
		s.remove()
	}
	return nil
}

// remove removes the oldest segment. s.mu is held.
func (s *Spool) remove() {
	g := s.segments[0]
	if err := os.Remove(g.path); err != nil {
		s.log.Error("spool: a segment cannot be removed", "error", err)
	}
	s.bytes -= g.size
	s.segments = append(s.segments[:0:0], s.segments[1:]...)
}

// Close refuses further calls, waits for pending writes, and keeps the records for the next Open.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for s.leading || len(s.gathering.bodies) > 0 {
		s.settled.Wait()
	}
	s.grow()
	return s.release()
}

// grow wakes readers. s.mu is held.
func (s *Spool) grow() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// release closes the files.
func (s *Spool) release() error {
	var errs []error
	if s.mark != nil {
		errs = append(errs, s.mark.sync(), s.mark.close())
	}
	if s.writer.file != nil {
		errs = append(errs, s.writer.file.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
