package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

// A verified body says whose it is, which one, and carries a checksum of all of
// its other bytes:
//
//	run u64 | lane u32 | seq u64 | crc32c u32 | fill
//
// Little-endian. The fill follows from the rest of the head, so that a body in
// the place of another one is found even if it is whole. An answer to a body has
// the same head with the highest bit of the lane set.
const (
	bodyHead   = 24
	bodySum    = 20 // where the checksum begins
	answerBit  = 1 << 31
	fillPeriod = 4093 // prime, so that neighbours differ
)

// bodyID names a body of a run.
type bodyID struct {
	run  uint64 // random, of one client process
	lane uint32 // of one routine and verb
	seq  uint64 // within the lane, from 1
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pattern is the filling of bodies, twice, so that any window of a period is contiguous.
var pattern = func() []byte {
	r := rand.NewChaCha8([32]byte{})
	b := make([]byte, fillPeriod, 2*fillPeriod)
	_, _ = r.Read(b) // never fails
	return append(b, b...)
}()

// errBody is wrapped by the errors of parseBody.
var errBody = errors.New("not the body that was sent")

// appendBody appends a body of size bytes, but never less than its head.
func appendBody(dst []byte, id bodyID, size int) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, id.run)
	dst = binary.LittleEndian.AppendUint32(dst, id.lane)
	dst = binary.LittleEndian.AppendUint64(dst, id.seq)
	dst = append(dst, 0, 0, 0, 0)
	for n := size - bodyHead; n > 0; n -= fillPeriod {
		dst = append(dst, fill(id)[:min(n, fillPeriod)]...)
	}
	seal(dst[at:])
	return dst
}

// fill is the period that a body is filled with.
func fill(id bodyID) []byte {
	at := (id.run ^ id.seq ^ uint64(id.lane&^answerBit)<<20) % fillPeriod
	return pattern[at : at+fillPeriod]
}

// sum is the checksum of a body: of all but the checksum.
func sum(body []byte) uint32 {
	return crc32.Update(crc32.Checksum(body[:bodySum], castagnoli), castagnoli, body[bodyHead:])
}

func seal(body []byte) { binary.LittleEndian.PutUint32(body[bodySum:], sum(body)) }

// parseBody checks a body and says which one it is; with an error that is zero.
func parseBody(body []byte) (id bodyID, err error) {
	if len(body) < bodyHead {
		return id, fmt.Errorf("%w: %d bytes are too few", errBody, len(body))
	}
	id = bodyID{
		run:  binary.LittleEndian.Uint64(body),
		lane: binary.LittleEndian.Uint32(body[8:]),
		seq:  binary.LittleEndian.Uint64(body[12:]),
	}
	if want, got := sum(body), binary.LittleEndian.Uint32(body[bodySum:]); want != got {
		return bodyID{}, fmt.Errorf("%w: checksum %08x, not %08x", errBody, got, want)
	}
	period := fill(id)
	for rest := body[bodyHead:]; len(rest) > 0; {
		n := min(len(rest), fillPeriod)
		if string(rest[:n]) != string(period[:n]) {
			return bodyID{}, fmt.Errorf("%w: filled with something else", errBody)
		}
		rest = rest[n:]
	}
	return id, nil
}

// toAnswer turns a body into the answer to it, in place.
func toAnswer(body []byte) {
	body[11] |= answerBit >> 24
	seal(body)
}

// checkAnswer checks that body is the answer to the body of id and size.
func checkAnswer(body []byte, id bodyID, size int) error {
	got, err := parseBody(body)
	id.lane |= answerBit
	switch {
	case err != nil:
		return err
	case got != id:
		return fmt.Errorf("%w: %x/%x/%d came for %x/%x/%d", errBody, got.run, got.lane, got.seq, id.run, id.lane, id.seq)
	case len(body) != max(size, bodyHead):
		return fmt.Errorf("%w: %d bytes, not %d", errBody, len(body), max(size, bodyHead))
	}
	return nil
}
