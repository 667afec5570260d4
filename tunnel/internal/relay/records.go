package relay

import (
	"errors"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

const (
	// maxMessage bounds a record of any kind: the longest is a head behind its first byte.
	maxMessage = 1 + h1.MaxHead
	// maxOpening bounds the message that begins a stream.
	MaxOpening = h1.MaxHead + message.MaxRecord
)

// readRecord appends the next record of an exchange to dst, which is empty. One that is longer
// than it may be is malformed before all of it has come: what is counted of an exchange is no
// more than that.
func ReadRecord(st *wire.Stream, dst []byte) ([]byte, error) {
	b, err := st.ReadMsgUpTo(dst, maxMessage)
	if errors.Is(err, wire.ErrTooLarge) || err == nil && len(b) > 1+message.MaxRecord && b[0] == message.RecordBody {
		err = message.Malformed("a record that is too long")
	}
	return b, err
}
