package hostile

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// hostileCase is one input and its expected outcome.
//
// A file under testdata holds many, each as
//
//	== title -> outcome
//	> Header: value
//	lines of input
//
// In the input, ${text*n} is n times the text and \xNN is a byte. The meaning of the title and of
// the outcome depends on the door: see the function that plays the case.
type hostileCase struct {
	place   string // file:line
	title   string
	outcome string // or a beginning of it
	headers []string
	input   []byte
}

// expects reports whether an outcome is the expected one. Alternatives between which the network
// decides are written "431 or closed". The end of a long text may be omitted.
func (c *hostileCase) expects(got string) bool {
	for due := range strings.SplitSeq(c.outcome, " or ") {
		if due != "" && strings.HasPrefix(got, due) {
			return true
		}
	}
	return false
}

func readCases(t *testing.T, name string) (cases []hostileCase) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var c *hostileCase
	var input []string
	flush := func() {
		if c != nil {
			c.input = expand(strings.Join(input, "\n"))
			cases = append(cases, *c)
		}
		input = nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "== "):
			flush()
			title, outcome, _ := strings.Cut(strings.TrimPrefix(line, "== "), " -> ")
			c = &hostileCase{place: name + ":" + strconv.Itoa(i+1), title: string(expand(title)), outcome: outcome}
		case c == nil: // the comment above the first case
		case strings.HasPrefix(line, "> ") && len(input) == 0:
			c.headers = append(c.headers, strings.TrimPrefix(line, "> "))
		default:
			input = append(input, line)
		}
	}
	flush()
	return cases
}

var (
	repeats = regexp.MustCompile(`(?s)\$\{(.*?)\*(\d+)\}`)
	escapes = regexp.MustCompile(`\\x[0-9a-f]{2}`)
)

func expand(text string) []byte {
	b := escapes.ReplaceAllFunc([]byte(text), func(e []byte) []byte {
		c, err := hex.DecodeString(string(e[2:]))
		if err != nil {
			panic(err)
		}
		return c
	})
	return repeats.ReplaceAllFunc(b, func(r []byte) []byte {
		m := repeats.FindSubmatch(r)
		n, err := strconv.Atoi(string(m[2]))
		if err != nil {
			panic(err)
		}
		return bytes.Repeat(m[1], n)
	})
}
