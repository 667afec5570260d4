package responder

import (
	"bytes"
	"fmt"
	"strings"
)

// AnswerSize is how many bytes an answer has, if nothing else is said: few, as it is the
// client that is measured.
const AnswerSize = 150

// maxAnswer is the largest answer, in bytes.
const maxAnswer = 1 << 20

// answers makes those of a service: of its contents, or one of its size.
func (c *Config) answers(last bool) ([][]byte, error) {
	if len(c.Contents) == 0 {
		one, err := answer(c.Size, last)
		return [][]byte{one}, err
	}
	all := make([][]byte, len(c.Contents))
	for i, x := range c.Contents {
		all[i] = append(head(last, x.Type, len(x.Body)), x.Body...)
	}
	return all, nil
}

// head is that of an answer.
func head(last bool, kind string, length int) []byte {
	connection := "keep-alive" // ab and others of HTTP/1.0 want to hear it
	if last {
		connection = "close"
	}
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: responder\r\nConnection: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", connection, kind, length)
}

// answer makes one of so many bytes, with its head. last = the connection ends behind it.
func answer(size int, last bool) ([]byte, error) {
	if size < 1 || size > maxAnswer {
		return nil, fmt.Errorf("responder: an answer of %d bytes: want %d at most", size, maxAnswer)
	}
	const kind = "text/plain"
	for body := max(size-len(head(last, kind, size)), 0); body <= size; body++ { // the length of the length counts too
		if h := head(last, kind, body); len(h)+body == size {
			return append(h, strings.Repeat(".", body)...), nil
		}
	}
	return nil, fmt.Errorf("responder: no answer of %d bytes can be made: its head is longer, or says a length that it changes", size)
}

// Wrong is an invalid answer with its fault.
type Wrong struct {
	Name  string
	Bytes []byte
}

// Malformed returns answers that no client may take for good ones. The connection ends
// behind each of them.
func Malformed() []Wrong {
	var all []Wrong
	for _, w := range []struct{ name, text string }{
		{"nothing", ""},
		{"not HTTP", "+OK hello\r\n\r\n"},
		{"no version", "HTTP/one 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"no status", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"},
		{"a head that ends early", "HTTP/1.1 200 OK\r\nContent-Le"},
		{"a body that ends early", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"},
		{"a length below 0", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
		{"a length that overflows", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"},
		{"a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n0123456789"},
		{"two lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12"},
		{"a chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\n"},
		{"chunks that end early", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123"},
	} {
		all = append(all, Wrong{w.name, bytes.Clone([]byte(w.text))})
	}
	return all
}
