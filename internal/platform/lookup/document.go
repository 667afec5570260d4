package lookup

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Document answers a body that is one JSON value: a point, or {"points":[...]}.
func (l *Lookup) Document(body []byte) error {
	body = bytes.TrimSpace(withoutMark(body))
	if len(body) == 0 {
		return fail(Invalid, `body: empty: send a point, {"points":[...]}, or one point a line as application/x-ndjson`)
	}
	var many struct {
		Points json.RawMessage `json:"points"`
	}
	err := json.Unmarshal(body, &many)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fail(Invalid, "body: malformed JSON: %v", err)
	}
	if many.Points != nil {
		return l.points(many.Points)
	}
	p, err := readPoint(body)
	if err != nil {
		return fail(Invalid, "body: %v", err)
	}
	if err := l.Point(p); err != nil {
		return err
	}
	l.text("\n")
	return nil
}

// withoutMark removes a byte order mark.
func withoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// points answers a JSON array of points. It keeps one chunk of them at a time.
func (l *Lookup) points(array json.RawMessage) error {
	if array[0] != '[' {
		return fail(Invalid, "points: must be an array")
	}
	dec := json.NewDecoder(bytes.NewReader(array))
	if _, err := dec.Token(); err != nil {
		return err // impossible: it is valid JSON
	}
	var raw json.RawMessage
	size := l.chunkSize()
	l.beginResults()
	for i := 0; dec.More(); i++ {
		if i == MaxPoints {
			return tooManyPoints()
		}
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		p, err := readPoint(raw)
		if err != nil {
			return fail(Invalid, "points[%d]: %v", i, err)
		}
		if err := l.take(p, size, ","); err != nil {
			return err
		}
	}
	return l.endResults()
}

func (l *Lookup) beginResults() { l.text(`{"results":[`) }

// endResults answers the pending points, and ends the results, each of which is followed by a
// comma.
func (l *Lookup) endResults() error {
	if err := l.settle(","); err != nil {
		return err
	}
	l.Answer = bytes.TrimSuffix(l.Answer, []byte(","))
	l.text("]}\n")
	return l.fits()
}

func tooManyPoints() error {
	return fail(TooLarge, "body: more than %d points; send them in parts", MaxPoints)
}

// Lines answers each line with one line; a bad one with its error.
func (l *Lookup) Lines(body []byte) error {
	n, size := 0, l.chunkSize()
	for line := range bytes.SplitSeq(withoutMark(body), []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if n++; n > MaxPoints {
			return tooManyPoints()
		}
		p, err := readPoint(line)
		if err != nil {
			err = l.badLine(err)
		} else {
			err = l.take(p, size, "\n")
		}
		if err != nil {
			return err
		}
	}
	return l.settle("\n")
}

// badLine answers a bad line in its place, after the pending ones.
func (l *Lookup) badLine(reason error) error {
	if err := l.settle("\n"); err != nil {
		return err
	}
	l.text(`{"error":`)
	l.Answer = appendString(l.Answer, reason.Error())
	l.text("}\n")
	return l.fits()
}
