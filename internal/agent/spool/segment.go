package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	magic      = "PDKSPOOL\x01\x00\x00\x00\x00\x00\x00\x00"
	recordHead = 16
	suffix     = ".spool"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is a file of records. Only the last segment of a spool changes.
type segment struct {
	path    string
	first   uint64 // number of the first record
	records uint64 // synced records
	size    int64  // synced bytes
	newest  int64  // time of the last record, by the spool's clock
}

// end returns the number after the last record.
func (g *segment) end() uint64 { return g.first + g.records }

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016x%s", first, suffix))
}

// listSegments returns the segments of a directory, oldest first.
func listSegments(dir string) (all []*segment, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), suffix)
		first, err := strconv.ParseUint(name, 16, 64)
		if ok && err == nil && len(name) == 16 && first > 0 {
			all = append(all, &segment{path: filepath.Join(dir, f.Name()), first: first})
		}
	}
	slices.SortFunc(all, func(a, b *segment) int { // the order of names is the order of first
		return strings.Compare(a.path, b.path)
	})
	return all, nil
}

// scan reads the records up to the first incomplete one. whole reports that there was none.
func (g *segment) scan() (whole bool, err error) {
	f, err := os.Open(g.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := recordReader{from: bufio.NewReaderSize(f, 64<<10), number: g.first}
	if err := r.head(); err != nil {
		return false, ignoreDamage(err)
	}
	g.size = int64(len(magic))
	for {
		accepted, body, err := r.next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, ignoreDamage(err)
		}
		g.records++
		g.size += int64(recordHead + len(body))
		g.newest = accepted
	}
}

// errDamaged reports bytes that were not written so, or not completely.
var errDamaged = errors.New("damaged")

func ignoreDamage(err error) error {
	if errors.Is(err, errDamaged) {
		return nil
	}
	return err
}

// recordReader decodes a segment.
type recordReader struct {
	from   *bufio.Reader
	number uint64 // of the next record
	body   []byte
}

// head reads the header of the file.
func (r *recordReader) head() error {
	var b [len(magic)]byte
	if err := r.full(b[:]); err != nil {
		return err
	}
	if string(b[:]) != magic {
		return errDamaged
	}
	return nil
}

// full fills b.
func (r *recordReader) full(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// next reads a record; the body is valid until the next call. io.EOF is the end.
func (r *recordReader) next() (accepted int64, body []byte, err error) {
	if _, err := r.from.Peek(1); err != nil {
		return 0, nil, err
	}
	var head [recordHead]byte
	if err := r.full(head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > MaxBody {
		return 0, nil, errDamaged
	}
	r.body = slices.Grow(r.body[:0], int(n))[:n]
	if err := r.full(r.body); err != nil {
		return 0, nil, err
	}
	if checksum(r.number, head[8:], r.body) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, errDamaged
	}
	r.number++
	return int64(binary.LittleEndian.Uint64(head[8:])), r.body, nil
}

func checksum(number uint64, accepted, body []byte) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], number)
	c := crc32.Update(0, castagnoli, b[:])
	c = crc32.Update(c, castagnoli, accepted)
	return crc32.Update(c, castagnoli, body)
}

// appendRecord appends one record as it stands in a segment.
func appendRecord(dst []byte, number uint64, accepted int64, body []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(accepted))
	dst = append(dst, body...)
	binary.LittleEndian.PutUint32(dst[at+4:], checksum(number, dst[at+8:at+recordHead], body))
	return dst
}
