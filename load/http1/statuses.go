package http1

import (
	"fmt"
	"strconv"
	"strings"
)

// Statuses is a set of statuses.
type Statuses [1000]bool

// Good reports whether an answer with a status did not fail. A nil set has those below 400.
func (s *Statuses) Good(status uint16) bool {
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
