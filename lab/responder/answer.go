package responder

import (
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
