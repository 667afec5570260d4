package busdiff

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

//go:embed explained.txt
var explainedText string

// explanation is an entry of explained.txt: a difference that is known, and why it
// stays. It holds where all its patterns match.
type explanation struct {
	name, why string
	script    *regexp.Regexp // everything that the connections send, one after the other
	reference *regexp.Regexp // the first frame of nats-server's answer that differs
	ours      *regexp.Regexp // likewise
}

// readExplained reads entries of `== name` and lines of `key: value`.
func readExplained(text string) ([]explanation, error) {
	var all []explanation
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, explanation{name: name})
			continue
		}
		key, value, _ := strings.Cut(line, ": ")
		err := errors.New("before any entry")
		if len(all) > 0 {
			err = all[len(all)-1].set(key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("explained.txt:%d: %w", n+1, err)
		}
	}
	for i := range all {
		if e := &all[i]; e.why == "" || e.script == nil || e.reference == nil || e.ours == nil {
			return nil, fmt.Errorf("explained.txt: %s is not complete", e.name)
		}
	}
	return all, nil
}

func (e *explanation) set(key, value string) (err error) {
	switch key {
	case "why":
		e.why += value + " "
	case "script":
		e.script, err = regexp.Compile(value)
	case "reference":
		e.reference, err = regexp.Compile(value)
	case "ours":
		e.ours, err = regexp.Compile(value)
	default:
		err = fmt.Errorf("no key: %q", key)
	}
	return err
}

func (e *explanation) holds(s *Script, d *difference) bool {
	if !e.reference.MatchString(d.reference) || !e.ours.MatchString(d.ours) {
		return false
	}
	for i := range s.conns() {
		if e.script.Match(s.sent(i)) {
			return true
		}
	}
	return false
}
