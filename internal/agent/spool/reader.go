package spool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Record is a record from a Reader.
type Record struct {
	Number uint64
	Body   []byte // valid until the next call of the reader
}

// Reader returns the records in order. One goroutine uses it.
type Reader struct {
	spool   *Spool
	next    uint64   // number of the next record
	file    *os.File // nil: none
	segment segment  // of file, as far as it is known now
	at      int64    // offset in file of record next
	records recordReader
	expired uint64 // expired records since the last valid one
}

// Reader returns a reader that begins with the record of this number, or the first one after it. A
// spool has one reader at a time, which must be closed.
func (s *Spool) Reader(first uint64) *Reader { return &Reader{spool: s, next: first} }

// Close closes the reader's file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Next waits for the next record and returns it. Numbers may be missing before it: their records
// are gone. The error is ErrClosed, that of ctx, or one of the disk.
func (r *Reader) Next(ctx context.Context) (Record, error) {
	for {
		grown, ok, err := r.locate()
		if err != nil {
			return Record{}, err
		}
		if !ok {
			r.tellExpired()
			select {
			case <-grown:
				continue
			case <-ctx.Done():
				return Record{}, ctx.Err()
			}
		}
		if r.file == nil {
			continue // the segment was damaged, or was dropped meanwhile
		}
		accepted, body, err := r.records.next()
		if err != nil {
			if err := r.damaged(err); err != nil {
				return Record{}, err
			}
			continue
		}
		number := r.next
		r.next++
		r.at += int64(recordHead + len(body))
		if r.take(number, accepted) {
			r.tellExpired()
			return Record{number, body}, nil
		}
		r.expired++
	}
}

// tellExpired logs the number of expired records in a row.
func (r *Reader) tellExpired() {
	if r.expired > 0 {
		r.spool.log.Warn("spool: records waited for longer than max_age, and are not delivered", "records", r.expired, "max_age", r.spool.opts.MaxAge)
		r.expired = 0
	}
}

// take marks a record as taken. It returns false if the record has expired.
func (r *Reader) take(number uint64, accepted int64) bool {
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = max(s.taken, number)
	if s.opts.MaxAge > 0 && accepted < s.clock()-s.opts.MaxAge.Milliseconds() {
		s.stats.Expired++
		return false
	}
	return true
}

// locate positions r.records before record r.next, or the first one after it. If there is none, ok
// is false, and grown is closed when records are added or the spool is closed.
func (r *Reader) locate() (grown <-chan struct{}, ok bool, err error) {
	s := r.spool
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, false, ErrClosed
	}
	grown = s.grown
	found, ok := s.find(r.next)
	s.mu.Unlock()
	switch {
	case !ok:
		return grown, false, nil
	case r.file == nil || found.first != r.segment.first:
		err = r.enter(found)
	case r.at == r.segment.size: // it has grown
		r.read(found)
	}
	return nil, true, err
}

// find returns the first segment with records from number on. s.mu is held.
func (s *Spool) find(number uint64) (segment, bool) {
	for _, g := range s.segments {
		if g.records > 0 && g.end() > number {
			return *g, true
		}
	}
	return segment{}, false
}

// has reports whether there is a segment with this first number.
func (s *Spool) has(first uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.segments, func(g *segment) bool { return g.first == first })
}

// enter opens a segment, at r.next if that is in it.
func (r *Reader) enter(g segment) error {
	if err := r.Close(); err != nil {
		return err
	}
	f, err := os.Open(g.path)
	if errors.Is(err, fs.ErrNotExist) && !r.spool.has(g.first) {
		return nil // it was dropped meanwhile
	}
	if err != nil {
		return err
	}
	r.file, r.at, r.records.number = f, int64(len(magic)), g.first
	r.read(g)
	r.next = max(r.next, g.first)
	for r.records.number < r.next {
		_, body, err := r.records.next()
		if err != nil {
			return r.damaged(err)
		}
		r.at += int64(recordHead + len(body))
	}
	return nil
}

// read makes r.records go on at r.at, up to the end of g.
func (r *Reader) read(g segment) {
	r.segment = g
	r.records.from = bufio.NewReaderSize(io.NewSectionReader(r.file, r.at, g.size-r.at), 32<<10)
}

// damaged skips the rest of a damaged segment.
func (r *Reader) damaged(err error) error {
	if !errors.Is(err, errDamaged) && !errors.Is(err, io.EOF) {
		return err
	}
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Damaged++
	s.log.Error("spool: a segment is damaged; the rest of it is lost", "file", r.segment.path, "at", r.at)
	r.next = r.segment.end()
	if last := s.segments[len(s.segments)-1]; last.first == r.segment.first {
		s.spoiled = true // later records go to another segment
	}
	return r.Close()
}
