package perf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"sync"

	"paddock/lab/internal/numbers"
)

// A journal is a file of acknowledged posts: eight bytes of magic, then records of one size, each
// with a checksum of its own. A record is appended and synced to the disk before its
// acknowledgement is sent, so every acknowledged post is in the file, even after a crash of the
// process.
//
//	session 16 B | epoch u64 | index u32 | number u64 | checksum u32 |
//	run u64 | lane u32 | seq u64 | crc32c u32
const (
	journalMagic = "PDKJRNL\x01"
	recordSize   = 64 // bytes
	recordSum    = recordSize - 4
)

// ErrJournal is wrapped by the errors of a file that is no journal, or is damaged
// elsewhere than at its end.
var ErrJournal = errors.New("wireperf: not a journal")

// Acked is one acknowledged post.
type Acked struct {
	Lane
	Number   uint64 // of the post, among those of the lane
	Checksum uint32 // CRC-32C of its body

	body bodyID // zero if it is not a body that can be verified
}

// Lane identifies a sequence of acknowledged posts: one of the connections of a session, with the
// connections that replaced it.
type Lane struct {
	Session [16]byte
	Epoch   uint64
	Index   uint32
}

// String is the line that `paddock wire journal` prints.
func (a Acked) String() string {
	return fmt.Sprintf("%x %d %d %d %08x", a.Session, a.Epoch, a.Index, a.Number, a.Checksum)
}

// Call is the call of a verifying run that it was, zero if it was none.
func (a Acked) Call() Call { return Call{a.body.run, a.body.lane, a.body.seq} }

// Intact says whether the checksum is that of the body that this call of a verifying
// run sends, of payload bytes.
func (a Acked) Intact(payload int) bool {
	return a.body != bodyID{} && a.Checksum == checksum(appendBody(nil, a.body, payload))
}

func (a Acked) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, a.Session[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, a.Epoch)
	dst = binary.LittleEndian.AppendUint32(dst, a.Index)
	dst = binary.LittleEndian.AppendUint64(dst, a.Number)
	dst = binary.LittleEndian.AppendUint32(dst, a.Checksum)
	dst = binary.LittleEndian.AppendUint64(dst, a.body.run)
	dst = binary.LittleEndian.AppendUint32(dst, a.body.lane)
	dst = binary.LittleEndian.AppendUint64(dst, a.body.seq)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

func parseRecord(b []byte) (a Acked, ok bool) {
	if crc32.Checksum(b[:recordSum], castagnoli) != binary.LittleEndian.Uint32(b[recordSum:]) {
		return a, false
	}
	copy(a.Session[:], b)
	a.Epoch = binary.LittleEndian.Uint64(b[16:])
	a.Index = binary.LittleEndian.Uint32(b[24:])
	a.Number = binary.LittleEndian.Uint64(b[28:])
	a.Checksum = binary.LittleEndian.Uint32(b[36:])
	a.body = bodyID{binary.LittleEndian.Uint64(b[40:]), binary.LittleEndian.Uint32(b[48:]), binary.LittleEndian.Uint64(b[52:])}
	return a, true
}

// Journal appends acknowledged posts to a file, for any number of goroutines.
type Journal struct {
	file *os.File

	mu      sync.Mutex // guards the following fields, and the file's end
	buf     []byte
	written int64 // bytes handed to the kernel
	broken  error // a write failed: later records would not be found

	syncing sync.Mutex // held by the goroutine that syncs the file, for all that wait
	synced  int64      // guarded by syncing
}

// OpenJournal opens or creates the file and calls each for every record in it. A
// record at the end that was cut off, as by a crash, is removed: it has not been
// acknowledged.
func OpenJournal(path string, each func(Acked)) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	end, err := readJournal(f, each)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err == nil && end == 0 {
		_, err = f.WriteString(journalMagic)
		end = int64(len(journalMagic))
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return &Journal{file: f, written: end, synced: end}, nil
}

// ReadJournal yields the records of a file, which it does not change; or an error,
// at the end.
func ReadJournal(path string) iter.Seq2[Acked, error] {
	return func(yield func(Acked, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Acked{}, err)
			return
		}
		defer f.Close()
		stopped := false
		_, err = readJournal(f, func(a Acked) { stopped = stopped || !yield(a, nil) })
		if err != nil && !stopped {
			yield(Acked{}, fmt.Errorf("%s: %w", path, err))
		}
	}
}

// readJournal returns where the last whole record ends.
func readJournal(r io.Reader, each func(Acked)) (end int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	magic := make([]byte, len(journalMagic))
	switch n, err := io.ReadFull(in, magic); {
	case err == io.EOF, err == io.ErrUnexpectedEOF && string(magic[:n]) == journalMagic[:n]:
		return 0, nil
	case err != nil && err != io.ErrUnexpectedEOF:
		return 0, err
	case string(magic) != journalMagic:
		return 0, ErrJournal
	}
	end = int64(len(journalMagic))
	record := make([]byte, recordSize)
	for damaged := false; ; {
		switch _, err := io.ReadFull(in, record); err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return end, nil
		default:
			return end, err
		}
		a, ok := parseRecord(record)
		if ok && damaged {
			return end, fmt.Errorf("%w: damaged at byte %d, and whole records follow", ErrJournal, end)
		}
		damaged = damaged || !ok
		if ok {
			end += recordSize
			each(a)
		}
	}
}

// Append writes the records and returns once they are on the disk. Goroutines
// that wait at the same time share one trip there.
func (j *Journal) Append(records []Acked) error {
	end, err := j.write(records)
	if err != nil {
		return err
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= end {
		return nil
	}
	j.mu.Lock()
	written, err := j.written, j.broken
	j.mu.Unlock()
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return j.breakOff(err)
	}
	j.synced = written
	return nil
}

// write hands the records to the kernel in one call and returns where they end.
func (j *Journal) write(records []Acked) (end int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return 0, j.broken
	}
	j.buf = j.buf[:0]
	for _, a := range records {
		j.buf = a.append(j.buf)
	}
	if _, err := j.file.Write(j.buf); err != nil {
		j.broken = err
		return 0, err
	}
	j.written += int64(len(j.buf))
	return j.written, nil
}

// breakOff ends the journal: after a failed sync the content of the disk is unknown.
func (j *Journal) breakOff(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = err
	}
	return err
}

// Close closes the file; all that was appended is on the disk.
func (j *Journal) Close() error { return j.file.Close() }

// Numbers finds posts that are in a journal more than once.
type Numbers struct {
	sets map[Lane]*numbers.Set
}

// Add takes a record and says whether one of its number was there before.
func (n *Numbers) Add(a Acked) (again bool) {
	if n.sets == nil {
		n.sets = map[Lane]*numbers.Set{}
	}
	set := n.sets[a.Lane]
	if set == nil {
		set = &numbers.Set{}
		n.sets[a.Lane] = set
	}
	return !set.Add(a.Number)
}
