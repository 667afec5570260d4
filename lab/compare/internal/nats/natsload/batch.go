package natsload

import (
	"fmt"
	"strings"
)

// blockSize bounds one write.
const blockSize = 64 << 10

// batch is messages to publish, rendered. All are of the same length, so that a
// slice of a whole number of them is a slice of bytes.
type batch struct {
	data   []byte
	stride int // bytes of one message
	total  int // messages in data
	at     int // the next one
}

// render renders messages of size bytes on n distinct subjects, and as many of
// them as fill a block at least. One subject is itself; more are numbered.
func render(subject string, n, size int) *batch {
	digits := len(fmt.Sprint(n - 1))
	payload := strings.Repeat("x", size)
	b := &batch{}
	for i := 0; i < n || len(b.data) < blockSize-b.stride; i++ {
		name := subject
		if n > 1 {
			name = fmt.Sprintf("%s%0*d", subject, digits, i%n)
		}
		b.data = fmt.Appendf(b.data, "PUB %s %d\r\n%s\r\n", name, size, payload)
		b.total++
		if i == 0 {
			b.stride = len(b.data)
		}
	}
	return b
}

// next returns the next messages, up to a block and up to limit, and how many.
func (b *batch) next(limit int) ([]byte, int) {
	if b.at == b.total {
		b.at = 0
	}
	n := min(limit, max(1, blockSize/b.stride), b.total-b.at)
	from := b.at * b.stride
	b.at += n
	return b.data[from : from+n*b.stride], n
}

// delivered returns the message as a subscriber of that id gets it.
func delivered(subject string, sid, size int) []byte {
	return fmt.Appendf(nil, "MSG %s %d %d\r\n%s\r\n", subject, sid, size, strings.Repeat("x", size))
}
