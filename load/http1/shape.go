package http1

// shape is a head that has been read before. The heads of a service mostly differ only in the
// digits of Content-Length and, once a second, in the time. A head that is otherwise equal byte by
// byte need not be parsed again.
type shape struct {
	before, after []byte // of the digits; after is empty if there are none
	head          head
	plain         bool // behind it comes a body of the stated length, and the connection goes on
}

// learn keeps a head that was read.
func (s *shape) learn(b []byte, h *head) {
	at, rest := h.digits, h.rest
	if at == 0 {
		at, rest = len(b), len(b)
	}
	s.before = append(s.before[:0], b[:at]...)
	s.after = append(s.after[:0], b[rest:]...)
	s.head = *h
	s.plain = len(s.after) > 0 && h.status >= 200 && h.status != 204 && h.status != 304 &&
		!h.coded && !h.close && h.minor > 0
}

// usual gives the length of the head at the start of b and that of the body behind it, if
// the head is the learned one and tells all; else 0.
func (s *shape) usual(b []byte) (n int, body int64) {
	n = len(s.before)
	if !s.plain || len(b) < n || string(b[:n]) != string(s.before) {
		return 0, 0
	}
	n, body = s.digits(b, n)
	return n, body
}

// maxDigits is how many digits are a number without another look.
const maxDigits = 18

// match returns the length of the head at the start of b, and its content, if it is the learned
// one, and 0 otherwise.
//
// hot: guarded by BenchmarkReceive and TestDoesNotAllocate.
func (s *shape) match(b []byte, h *head) int {
	n := len(s.before)
	if n == 0 || len(b) < n || string(b[:n]) != string(s.before) {
		return 0
	}
	if len(s.after) == 0 {
		*h = s.head
		return n
	}
	n, length := s.digits(b, n)
	if n > 0 {
		*h = s.head
		h.length = length
	}
	return n
}

// digits returns the number at an index of b and the length of the head, if the rest is equal to
// the learned head, and 0 otherwise.
func (s *shape) digits(b []byte, at int) (n int, length int64) {
	n = at
	for ; n < len(b) && isDigit(b[n]); n++ {
		length = length*10 + int64(b[n]-'0')
	}
	if n == at || n-at > maxDigits || len(b)-n < len(s.after) || string(b[n:n+len(s.after)]) != string(s.after) {
		return 0, 0
	}
	return n + len(s.after), length
}
