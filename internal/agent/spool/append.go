package spool

import (
	"errors"
	"fmt"
	"os"
)

// group is a batch of records that are written and synced together.
type group struct {
	bodies [][]byte
	done   bool
	last   uint64 // number of the last record
	err    error
}

// Append adds records and returns once they are on the disk: all of them or, with an error, none.
// last is the number of the last record of their group. The bodies are borrowed until Append
// returns. The error is ErrFull, ErrTooLarge, ErrClosed, or an error of the disk.
func (s *Spool) Append(bodies ...[]byte) (last uint64, err error) {
	last, err = s.Offer(bodies...)
	if errors.Is(err, ErrFull) || errors.Is(err, ErrTooLarge) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stats.Refused += uint64(len(bodies))
	}
	return last, err
}

// Offer is Append for records that are offered until they are taken: that there is no room for them
// is not counted.
func (s *Spool) Offer(bodies ...[]byte) (last uint64, err error) {
	size, err := sizeOf(bodies)
	if err != nil || len(bodies) == 0 {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	if err := s.makeRoom(size); err != nil {
		return 0, err
	}
	g := s.gathering
	g.bodies = append(g.bodies, bodies...)
	s.waiting += size
	for !g.done {
		if s.leading {
			s.settled.Wait()
		} else {
			s.lead()
		}
	}
	return g.last, g.err
}

func sizeOf(bodies [][]byte) (n int64, err error) {
	for _, b := range bodies {
		if len(b) > MaxBody {
			return 0, fmt.Errorf("spool: a record of %d bytes; the limit is %d", len(b), MaxBody)
		}
		n += int64(recordHead + len(b))
	}
	return n, nil
}

// Largest is how many bytes of records, with their heads, the buffer drops older ones for at once.
// More of them have to fit as it is.
func (s *Spool) Largest() int64 { return s.opts.MaxBytes / 2 }

// makeRoom frees room for size bytes. s.mu is held.
func (s *Spool) makeRoom(size int64) error {
	s.expire()
	if size > s.opts.MaxBytes {
		return fmt.Errorf("%w: %d bytes at once, of %d: send them in parts", ErrTooLarge, size, s.opts.MaxBytes)
	}
	if s.bytes+s.waiting+size > s.opts.MaxBytes {
		_ = s.free() // retries a failed attempt; otherwise there is nothing to free
	}
	for s.bytes+s.waiting+size > s.opts.MaxBytes {
		if s.opts.Refuse || len(s.segments) == 1 || size > s.Largest() {
			return fmt.Errorf("%w: %d of %d bytes", ErrFull, s.bytes+s.waiting, s.opts.MaxBytes)
		}
		s.drop("to make room", &s.stats.Dropped)
	}
	return nil
}

// expire drops segments whose records are all too old. s.mu is held.
func (s *Spool) expire() {
	if s.opts.MaxAge == 0 {
		return
	}
	before := s.clock() - s.opts.MaxAge.Milliseconds()
	for len(s.segments) > 1 && s.segments[0].newest < before {
		s.drop("as it is too old", &s.stats.Expired)
	}
}

// drop removes the oldest segment, and counts its undelivered records. s.mu is held.
func (s *Spool) drop(why string, counter *uint64) {
	g := s.segments[0]
	lost := uint64(0)
	if had := max(s.taken, s.mark.number, g.first-1); had < g.end()-1 {
		lost = g.end() - 1 - had
	}
	s.remove()
	*counter += lost
	if lost > 0 {
		s.log.Warn("spool: the oldest segment was dropped "+why, "records", lost, "bytes", g.size)
	}
}

// lead writes the gathered group for all of its callers. s.mu is held, except during the write.
func (s *Spool) lead() {
	g, size := s.gathering, s.waiting
	s.gathering, s.leading = new(group), true
	roll := s.spoiled || s.writer.segment.size >= s.segment
	at := s.next
	s.mu.Unlock()
	var begun *segment
	var err error
	if roll {
		begun, err = s.writer.begin(s.opts.Dir, at)
	}
	var written *segment
	if err == nil {
		written, err = s.writer.write(at, s.clock(), g.bodies)
	}
	s.mu.Lock()
	if begun != nil {
		s.segments = append(s.segments, begun)
		s.bytes += begun.size
		s.spoiled = false
	}
	s.leading, g.done = false, true
	s.waiting -= size
	if err == nil {
		present := s.segments[len(s.segments)-1]
		s.bytes += written.size - present.size
		*present = *written
		s.next = present.end()
		s.stats.Accepted += uint64(len(g.bodies))
		s.stats.Syncs++
		g.last = s.next - 1
		s.grow()
	} else {
		g.err = fmt.Errorf("spool: %w", err)
	}
	g.bodies = nil
	s.settled.Broadcast()
}

// writer appends to the last segment.
type writer struct {
	file    *os.File
	segment segment // its state on the disk
	buffer  []byte
	broken  error // the file could not be restored after a failed write
}

// keptBuffer is the largest buffer that is kept for the next group.
const keptBuffer = 256 << 10

// resume continues after a segment's records.
func (w *writer) resume(g *segment) (err error) {
	if w.file, err = os.OpenFile(g.path, os.O_RDWR, 0o600); err != nil {
		return err
	}
	w.segment = *g
	if g.size == 0 { // the file has no header yet
		if _, err = w.file.WriteAt([]byte(magic), 0); err != nil {
			return err
		}
		g.size = int64(len(magic))
		w.segment.size = g.size
	}
	return w.cut()
}

// cut truncates the file to its synced length.
func (w *writer) cut() error {
	err := w.file.Truncate(w.segment.size)
	if err == nil {
		err = w.file.Sync()
	}
	return err
}

// begin creates the segment whose first record has this number, and makes it the present one.
func (w *writer) begin(dir string, first uint64) (*segment, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	path := segmentPath(dir, first)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(magic)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	if w.file != nil {
		_ = w.file.Close() // all of it is synced
	}
	w.file, w.segment = f, segment{path: path, first: first, size: int64(len(magic))}
	g := w.segment
	return &g, nil
}

// write writes and syncs records with the time now of the spool's clock. It returns the segment's
// new state.
func (w *writer) write(number uint64, now int64, bodies [][]byte) (*segment, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	b := w.buffer[:0]
	for i, body := range bodies {
		b = appendRecord(b, number+uint64(i), now, body)
	}
	_, err := w.file.WriteAt(b, w.segment.size)
	if err == nil {
		err = w.file.Sync()
	}
	if w.buffer = b; cap(b) > keptBuffer {
		w.buffer = nil
	}
	if err != nil {
		if again := w.cut(); again != nil {
			w.broken = errors.Join(err, again)
		}
		return nil, err
	}
	w.segment.records += uint64(len(bodies))
	w.segment.size += int64(len(b))
	w.segment.newest = now
	g := w.segment
	return &g, nil
}
