package spool

import (
	"encoding/binary"
	"os"
)

const (
	// maxSought bounds how many records are thought to be damaged in a row, and
	// maxSummed how many bytes are summed up to find the next one.
	maxSought = 4_096
	maxSummed = 256 << 20
	// latest is beyond the time of any record, in Unix milliseconds: the year 2248.
	latest = 1 << 43
)

// behind looks for whole records behind what scan has found. Where there are none, writing
// has not come to its end there, and the numbers were never given; the result is the last
// number of what scan has found. Where there are some it is damage: the result is the last
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
		case summed > maxSummed: // as many as there may have been
			return last + uint64(len(b)/recordHead), nil
		case at < 0:
			return last, nil
		}
		for b = b[at:]; isWhole(b, number, &summed); number++ {
			last, b = number, b[recordLength(b):]
		}
	}
}

// nextWhole finds the next whole record in b behind its first byte, and which number it has
// behind last. at is -1 if there is none.
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

// recordLength is how long a record at the front of b would be, -1 if none can be there.
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

// isWhole says whether there is a record with that number at the front of b.
func isWhole(b []byte, number uint64, summed *int) bool {
	n := recordLength(b)
	if n < 0 {
		return false
	}
	*summed += n
	return checksum(number, b[8:recordHead], b[recordHead:n]) == binary.LittleEndian.Uint32(b[4:])
}
