package spool

import (
	"encoding/binary"
	"os"
)

const (
	// maxSought bounds the damaged records in a row, and maxSummed the bytes whose checksums are
	// computed to find the next record.
	maxSought = 4_096
	maxSummed = 256 << 20
	// latest is beyond the time of any record, in Unix milliseconds: the year 2248.
	latest = 1 << 43
)

// behind searches for whole records after the first incomplete one, at which scan has stopped.
// Without any, the last write was interrupted, and its numbers were never given: behind returns the
// last number that scan has found. With some, the segment is damaged: behind returns the last
// number that was given.
func (g *segment) behind() (last uint64, err error) {
	b, err := os.ReadFile(g.path)
	if err != nil {
		return 0, err
	}
	b = b[min(g.size, int64(len(b))):]
	last = g.end() - 1
	for summed := 0; ; {
		at, number := nextWhole(b, last, &summed)
		switch {
		case summed > maxSummed: // the largest possible number of records
			return last + uint64(len(b)/recordHead), nil
		case at < 0:
			return last, nil
		}
		for b = b[at:]; isWhole(b, number, &summed); number++ {
			last, b = number, b[recordLength(b):]
		}
	}
}

// nextWhole finds the next whole record in b after its first byte, and its number, which is greater
// than last. at is -1 if there is none.
func nextWhole(b []byte, last uint64, summed *int) (at int, number uint64) {
	for at = 1; at+recordHead <= len(b) && *summed <= maxSummed; at++ {
		if recordLength(b[at:]) < 0 {
			continue
		}
		for number = last + 1; number <= last+min(uint64(at/recordHead+1), maxSought); number++ {
			if isWhole(b[at:], number, summed) {
				return at, number
			}
		}
	}
	return -1, 0
}

// recordLength returns the length of a record at the front of b, or -1 if none can be there.
func recordLength(b []byte) int {
	if len(b) < recordHead {
		return -1
	}
	n := binary.LittleEndian.Uint32(b)
	if n > MaxBody || recordHead+int(n) > len(b) || binary.LittleEndian.Uint64(b[8:]) >= latest {
		return -1
	}
	return recordHead + int(n)
}

// isWhole reports whether b begins with the record of that number.
func isWhole(b []byte, number uint64, summed *int) bool {
	n := recordLength(b)
	if n < 0 {
		return false
	}
	*summed += n
	return checksum(number, b[8:recordHead], b[recordHead:n]) == binary.LittleEndian.Uint32(b[4:])
}
