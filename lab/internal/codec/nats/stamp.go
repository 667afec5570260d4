package nats

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// StampSize is the length of a stamp in bytes.
const StampSize = 36

// stampMagic begins each stamp.
var stampMagic = [4]byte{'P', 'd', 'k', '1'}

// stamp is the beginning of a verified message, little-endian: magic, run u32, publisher u32,
// number u64, due and sent i64.
type stamp struct {
	run, publisher uint32
	number         uint64 // counts the publisher's messages from 1
	due, sent      int64  // ns of Unix time
}

func (s *stamp) put(b []byte) {
	copy(b, stampMagic[:])
	binary.LittleEndian.PutUint32(b[4:], s.run)
	binary.LittleEndian.PutUint32(b[8:], s.publisher)
	binary.LittleEndian.PutUint64(b[12:], s.number)
	binary.LittleEndian.PutUint64(b[20:], uint64(s.due))
	binary.LittleEndian.PutUint64(b[28:], uint64(s.sent))
}

// readStamp takes the stamp of a payload; false if there is none.
func readStamp(b []byte) (s stamp, ok bool) {
	if len(b) < StampSize || [4]byte(b) != stampMagic {
		return s, false
	}
	return stamp{
		run:       binary.LittleEndian.Uint32(b[4:]),
		publisher: binary.LittleEndian.Uint32(b[8:]),
		number:    binary.LittleEndian.Uint64(b[12:]),
		due:       int64(binary.LittleEndian.Uint64(b[20:])),
		sent:      int64(binary.LittleEndian.Uint64(b[28:])),
	}, true
}

// checkSubject refuses invalid subjects, or, with wildcards, invalid patterns.
func checkSubject(s string, wildcards bool) error {
	tokens := strings.Split(s, ".")
	for i, t := range tokens {
		switch {
		case t == "" || strings.ContainsAny(t, " \t\r\n\x00"):
			return fmt.Errorf("%q is no subject: token %d is empty or has a blank", s, i+1)
		case !wildcards && (t == "*" || t == ">"):
			return fmt.Errorf("%q has a wildcard, and nothing is published to one", s)
		case t == ">" && i < len(tokens)-1:
			return fmt.Errorf("%q is no subject: > is the last token alone", s)
		}
	}
	return nil
}

func checkQueue(s string) error {
	if strings.ContainsAny(s, " \t\r\n\x00") {
		return fmt.Errorf("%q is no name of a queue: it has a blank", s)
	}
	return nil
}
