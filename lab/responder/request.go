package responder

import (
	"bytes"
	"errors"
	"strconv"
)

// maxHead is the longest head of a request, in bytes.
const maxHead = 64 << 10

var errRequest = errors.New("the bytes are no request")

// request holds the parts of a request that matter.
type request struct {
	number int64 // at the end of its path; -1 = there is none
	last   bool  // its client wants the connection to end behind the answer
}

// scanner finds the ends of requests: heads, with bodies of a stated length. It is not
// internal/netio/h1, because a responder that is much faster than its clients does no more than
// find the end, the number and the length.
type scanner struct {
	head []byte // of a request that has not come whole
	asks request
	body int64 // of it, bytes still to come
	open bool  // the head has come, the body has not
}

// next consumes the bytes of the next request from in, and returns the rest. ok reports whether the
// request is complete.
func (s *scanner) next(in []byte) (rest []byte, r request, ok bool, err error) {
	if !s.open {
		if in, err = s.takeHead(in); err != nil || !s.open {
			return in, request{}, false, err
		}
	}
	n := min(s.body, int64(len(in)))
	s.body -= n
	if s.body > 0 {
		return nil, request{}, false, nil
	}
	s.open = false
	return in[n:], s.asks, true, nil
}

// takeHead reads a head, if it is complete, and returns the bytes behind it.
func (s *scanner) takeHead(in []byte) (rest []byte, err error) {
	head, used := in, 0
	if len(s.head) > 0 {
		before := len(s.head)
		s.head = append(s.head, in[:min(len(in), maxHead+1)]...)
		head, used = s.head, -before
	}
	end := bytes.Index(head, []byte("\r\n\r\n"))
	switch {
	case end < 0 && len(head) > maxHead || end > maxHead:
		return nil, errRequest
	case end < 0:
		if used == 0 {
			s.head = append(s.head, in...)
		}
		return nil, nil
	}
	if err := s.read(head[:end+2]); err != nil {
		return nil, err
	}
	s.open = true
	s.head = s.head[:0]
	return in[used+end+4:], nil
}

// read reads the fields of a head that matter.
func (s *scanner) read(head []byte) error {
	line, fields, _ := bytes.Cut(head, []byte("\r\n"))
	parts := bytes.Fields(line)
	if len(parts) != 3 || !bytes.HasPrefix(parts[2], []byte("HTTP/1.")) {
		return errRequest
	}
	s.asks = request{number: numberOf(parts[1]), last: bytes.Equal(parts[2], []byte("HTTP/1.0"))}
	s.body = 0
	for line := range bytes.Lines(fields) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			n, err := strconv.ParseUint(string(value), 10, 62)
			if err != nil {
				return errRequest
			}
			s.body = int64(n)
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			return errRequest
		case bytes.EqualFold(name, []byte("connection")):
			s.asks.last = bytes.EqualFold(value, []byte("close")) || s.asks.last && !bytes.EqualFold(value, []byte("keep-alive"))
		}
	}
	return nil
}

// numberOf is the number at the end of a path such as /42; -1 if there is none.
func numberOf(path []byte) int64 {
	n, err := strconv.ParseUint(string(path[bytes.LastIndexByte(path, '/')+1:]), 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}
