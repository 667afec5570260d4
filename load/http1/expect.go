package http1

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Expect is a condition on the body of an answer; an answer that breaks it counts as
// load.ClassBody. The zero value accepts any body. The answers to HEAD, and 204 and 304, have none
// and are not checked.
type Expect struct {
	Length     int64  // bytes; 0 = any
	SameLength bool   // as many as the first answer of the run
	Body       []byte // these bytes; nil = any
}

// check is the state of the check of one body.
type check struct {
	bare    bool // there is none, whatever is expected
	differs bool // from Expect.Body
}

// compare takes the part of a body that begins at a place.
func (c *check) compare(want []byte, at int64, data []byte) {
	rest := want[min(at, int64(len(want))):]
	c.differs = c.differs || len(data) > len(rest) || !bytes.Equal(rest[:len(data)], data)
}

// expected reports whether a complete body meets the condition.
func (c *Codec) expected(length int64, k check) bool {
	e := &c.Expect
	if k.bare {
		return true
	}
	if e.SameLength && length+1 != c.length.Load() && !c.length.CompareAndSwap(0, length+1) {
		return length+1 == c.length.Load()
	}
	return (e.Length == 0 || length == e.Length) && (e.Body == nil || !k.differs && length == int64(len(e.Body)))
}

// Statuses is a set of statuses.
type Statuses [1000]bool

// good reports whether an answer with a status did not fail.
func (s *Statuses) good(status uint16) bool {
	if s == nil {
		return status < 400
	}
	return s[status]
}

// ParseStatuses reads a set of statuses: codes, ranges and classes, such as
// "2xx,304,400-404".
func ParseStatuses(text string) (*Statuses, error) {
	var s Statuses
	for part := range strings.SplitSeq(text, ",") {
		low, high, err := statusRange(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		for code := low; code <= high; code++ {
			s[code] = true
		}
	}
	return &s, nil
}

func statusRange(part string) (low, high int, err error) {
	if digit, ok := strings.CutSuffix(part, "xx"); ok && len(digit) == 1 && digit >= "1" && digit <= "9" {
		low = int(digit[0]-'0') * 100
		return low, low + 99, nil
	}
	first, last, ranged := strings.Cut(part, "-")
	if !ranged {
		last = first
	}
	low, err = strconv.Atoi(first)
	if err == nil {
		high, err = strconv.Atoi(last)
	}
	if err != nil || low < 100 || high > 999 || low > high || len(first) != 3 || len(last) != 3 {
		return 0, 0, fmt.Errorf("http1: %q is no status from 100 to 999, no range such as 400-404, and no class such as 2xx", part)
	}
	return low, high, nil
}
