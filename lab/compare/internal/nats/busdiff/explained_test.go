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

// explanation is an entry of explained.txt: a difference that is known, and why it stays. There are
// three kinds: it rewrites both answers to be equal, or it counts repetitions in both answers once,
// or all its patterns match.
type explanation struct {
	name, why string

	rewrite *regexp.Regexp // in each frame
	to      string
	repeats frame

	setting   *regexp.Regexp // its name
	script    *regexp.Regexp // bytes that one of the connections sends
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
		e := &all[i]
		patterns := e.setting != nil && e.script != nil && e.reference != nil && e.ours != nil
		if e.why == "" || !patterns && e.rewrite == nil && e.repeats == "" {
			return nil, fmt.Errorf("explained.txt: %s is not complete", e.name)
		}
	}
	return all, nil
}

func (e *explanation) set(key, value string) (err error) {
	switch key {
	case "why":
		e.why += value + " "
	case "rewrite":
		e.rewrite, err = regexp.Compile(value)
	case "to":
		e.to = value
	case "repeats":
		e.repeats = frame(value + crlf)
	case "setting":
		e.setting, err = regexp.Compile("^(" + value + ")$")
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

// matches reports whether the patterns of e match the difference.
func (e *explanation) matches(s *Script, d *difference) bool {
	if e.script == nil || !e.setting.MatchString(s.Setting) || !e.reference.MatchString(d.reference) || !e.ours.MatchString(d.ours) {
		return false
	}
	for i := range s.conns() {
		if e.script.Match(s.sent(i)) {
			return true
		}
	}
	return false
}

// applied returns a with the rewrites of e.
func (a *answer) applied(e *explanation) *answer {
	out := *a
	out.conns = make([][]frame, len(a.conns))
	for i, frames := range a.conns {
		for _, f := range frames {
			if e.rewrite != nil {
				f = frame(e.rewrite.ReplaceAllString(string(f), e.to))
			}
			n := len(out.conns[i])
			if f != e.repeats || n == 0 || out.conns[i][n-1] != f {
				out.conns[i] = append(out.conns[i], f)
			}
		}
	}
	return &out
}

// several is the name under which scripts are counted that take more than one
// entry.
const several = "several of these together"

// equal reports whether the answers are equal after an entry's rewrites; name is the entry's, "" if
// none was needed.
func (r *rig) equal(reference, ours *answer) (name string, ok bool) {
	if compare(reference, ours) == nil {
		return "", true
	}
	for i := range r.explained {
		e := &r.explained[i]
		if compare(reference.applied(e), ours.applied(e)) == nil {
			return e.name, true
		}
	}
	return several, compare(r.rewritten(reference), r.rewritten(ours)) == nil
}

// rewritten returns a with the rewrites of all entries.
func (r *rig) rewritten(a *answer) *answer {
	for i := range r.explained {
		a = a.applied(&r.explained[i])
	}
	return a
}
