package bus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A history is one case of testdata/protocol; its README explains the lines.
type history struct {
	name    string
	config  map[string]string
	users   string // JSON, as the reference server's configuration has it
	differs string // why the reference server answers otherwise
	steps   []step
}

type stepKind string

const (
	stepSend   stepKind = ">"
	stepLine   stepKind = "<"
	stepPrefix stepKind = "<~"
	stepAny    stepKind = "<any"
	stepEOF    stepKind = "<eof"
)

type step struct {
	at   string // file and line
	conn string
	kind stepKind
	text string
}

var (
	stepForm   = regexp.MustCompile(`^([a-z])(<eof|<any|<~|<|>>|>)(?: (.*))?$`)
	repeatForm = regexp.MustCompile(`\\\{(\d+):(.)\}`)
)

func readHistories(t *testing.T) []history {
	t.Helper()
	files, err := filepath.Glob("testdata/protocol/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	var all []history
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			at := fmt.Sprintf("%s:%d", filepath.Base(file), i+1)
			if all, err = addLine(all, at, line); err != nil {
				t.Fatalf("%s: %v", at, err)
			}
		}
	}
	return all
}

func addLine(all []history, at, line string) ([]history, error) {
	if name, ok := strings.CutPrefix(line, "== "); ok {
		return append(all, history{name: name}), nil
	}
	if line == "" || line[0] == '#' {
		return all, nil
	}
	h := &all[len(all)-1]
	if why, ok := strings.CutPrefix(line, "differs "); ok {
		h.differs = why
		return all, nil
	}
	if users, ok := strings.CutPrefix(line, "users "); ok {
		h.users = users
		return all, nil
	}
	if pairs, ok := strings.CutPrefix(line, "config "); ok {
		h.config = make(map[string]string)
		for pair := range strings.FieldsSeq(pairs) {
			key, value, _ := strings.Cut(pair, "=")
			h.config[key] = value
		}
		return all, nil
	}
	m := stepForm.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("no step: %q", line)
	}
	return all, h.addStep(at, m[1], m[2], m[3])
}

func (h *history) addStep(at, conn, kind, text string) error {
	text, err := unescape(text)
	if err != nil {
		return err
	}
	s := step{at: at, conn: conn, kind: stepKind(kind), text: text}
	switch kind {
	case ">", "<":
		s.text += "\r\n"
	case ">>":
		s.kind = stepSend
	}
	if n := len(h.steps); n > 0 && s.kind == stepSend && h.steps[n-1].kind == stepSend && h.steps[n-1].conn == conn {
		h.steps[n-1].text += s.text
		return nil
	}
	h.steps = append(h.steps, s)
	return nil
}

func unescape(text string) (string, error) {
	text = repeatForm.ReplaceAllStringFunc(text, func(s string) string {
		m := repeatForm.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		return strings.Repeat(m[2], n)
	})
	text = strings.ReplaceAll(text, `\0`, `\x00`)
	return strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
}

// longestSend is the number of positions at which a send can be split.
func (h *history) longestSend() int {
	n := 0
	for _, s := range h.steps {
		if s.kind == stepSend {
			n = max(n, len(s.text))
		}
	}
	return n
}
