package busdiff

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Script holds the bytes that the connections of one history send, in order.
type Script struct {
	Setting string // the name of a [Setting]
	Steps   []Step
}

// Step is one write of one connection, or a sync if Data is nil. A connection is
// opened by its first step.
type Step struct {
	Conn int // 0 = a
	Data []byte
}

func (s *Step) sync() bool { return s.Data == nil }

// maxConns is how many connections a script has at most.
const maxConns = 3

const (
	markSend = ">"
	markSync = "."
)

// WriteTo writes s as text, one step a line: `a> "bytes"` or `a.`, after the
// setting's name.
func (s *Script) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "setting %s\n", s.Setting)
	for i := range s.Steps {
		step := &s.Steps[i]
		name := string(rune('a' + step.Conn))
		if step.sync() {
			b.WriteString(name + markSync + "\n")
		} else {
			fmt.Fprintf(&b, "%s%s %s\n", name, markSend, strconv.QuoteToASCII(string(step.Data)))
		}
	}
	return b.WriteTo(w)
}

func (s *Script) String() string {
	var b strings.Builder
	s.WriteTo(&b) //nolint:errcheck // a Builder takes everything
	return b.String()
}

// ParseScripts parses the output of WriteTo, several in a row, with # comments and empty lines
// between.
func ParseScripts(r io.Reader) ([]Script, error) {
	var all []Script
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "setting "); ok {
			all = append(all, Script{Setting: name})
			continue
		}
		step, err := parseStep(line)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("a step before any setting")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		last := &all[len(all)-1]
		last.Steps = append(last.Steps, step)
	}
	return all, lines.Err()
}

func parseStep(line string) (Step, error) {
	conn := int(line[0]) - 'a'
	if conn < 0 || conn >= maxConns {
		return Step{}, fmt.Errorf("no connection: %q", line)
	}
	if line[1:] == markSync {
		return Step{Conn: conn}, nil
	}
	quoted, ok := strings.CutPrefix(line[1:], markSend)
	text, err := strconv.Unquote(strings.TrimSpace(quoted))
	if !ok || err != nil {
		return Step{}, fmt.Errorf("no step: %q", line)
	}
	return Step{Conn: conn, Data: []byte(text)}, nil
}

// joined is s with the writes between two syncs as one each.
func (s *Script) joined() Script {
	out := Script{Setting: s.Setting}
	for _, step := range s.Steps {
		if n := len(out.Steps); n > 0 && !step.sync() {
			if last := &out.Steps[n-1]; !last.sync() && last.Conn == step.Conn {
				last.Data = append(last.Data[:len(last.Data):len(last.Data)], step.Data...)
				continue
			}
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// recut is s with the same bytes in other writes: each as long as piece says.
func (s *Script) recut(piece func(rest []byte) int) Script {
	whole, out := s.joined(), Script{Setting: s.Setting}
	for _, step := range whole.Steps {
		if step.sync() {
			out.Steps = append(out.Steps, step)
			continue
		}
		for rest := step.Data; len(rest) > 0; {
			n := min(max(piece(rest), 1), len(rest))
			out.Steps = append(out.Steps, Step{Conn: step.Conn, Data: rest[:n:n]})
			rest = rest[n:]
		}
	}
	return out
}

// byLine cuts after each line feed.
func byLine(rest []byte) int {
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		return i + 1
	}
	return len(rest)
}

// sent is everything that one connection sends.
func (s *Script) sent(conn int) []byte {
	var all []byte
	for i := range s.Steps {
		if s.Steps[i].Conn == conn {
			all = append(all, s.Steps[i].Data...)
		}
	}
	return all
}

func (s *Script) conns() int {
	n := 0
	for i := range s.Steps {
		n = max(n, s.Steps[i].Conn+1)
	}
	return n
}
