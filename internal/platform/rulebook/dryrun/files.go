package dryrun

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/rulebook"
)

// ReadRules reads a file of rules, as the platform reads rules.yaml. An error names the file, the
// place and the field.
func ReadRules(file string) ([]*rule.Rule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rules, err := rule.ParseFile(file, text)
	if err != nil {
		return nil, err
	}
	_, err = stateOf(file, rules, rulebook.Files{}, track.Policy{})
	return rules, err
}

// stateOf returns the state of a book with these rules and with the policies of files.
func stateOf(file string, rules []*rule.Rule, policies rulebook.Files, otherwise track.Policy) (*rulebook.State, error) {
	policies.Rules, policies.RulesFile = rules, file
	book := rulebook.New(otherwise)
	if _, err := book.SetFiles(policies); err != nil {
		return nil, err
	}
	return book.State(), nil
}

// ReadSets reads the sets of a directory with the options of each.
func ReadSets(dir string, o fence.Options) (*fence.Catalog, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, err
	}
	catalog, _, err := fence.LoadDir(os.DirFS(dir), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return catalog, nil
}

// ReadState returns the rules of a file with the policies that a directory of sets has. The other
// sets have the policy steady, as the platform has it without a setting.
func ReadState(dir, file string, rules []*rule.Rule) (*rulebook.State, error) {
	policies, err := rulebook.ReadPolicies(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	steady, err := track.ParsePolicy("steady")
	if err != nil {
		return nil, err
	}
	return stateOf(file, rules, policies, steady)
}

// MaxPositions bounds a file of positions, in bytes.
const MaxPositions = 512 << 20

// Recording is the positions of a file.
type Recording struct {
	Positions []track.Position
	Rejected  []Rejection // the first ones
	Omitted   int         // further ones
}

// Rejection is an element of a file that is no position.
type Rejection struct {
	Line   int    `json:"line,omitempty"`  // from 1, in a file of lines
	Index  int    `json:"index,omitempty"` // from 0, in another file
	Reason string `json:"reason"`
}

// Place names the place of a rejection in a file.
func (r *Rejection) Place(file string) string {
	if r.Line > 0 {
		return fmt.Sprintf("%s:%d", file, r.Line)
	}
	return fmt.Sprintf("%s: position %d", file, r.Index)
}

// ReadPositions reads positions in the forms of POST /v1/positions. Each one needs its time, as
// there is no time at which it arrives. An error names the file.
func ReadPositions(file string, r io.Reader) (*Recording, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxPositions+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case len(text) > MaxPositions:
		return nil, fmt.Errorf("%s: larger than %d bytes: test it in parts", file, MaxPositions)
	}
	d := ingest.Decoder{MaxAhead: math.MaxInt64} // a recording may be of any time
	batch, err := d.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	places := placesOf(text)
	recording := &Recording{Omitted: batch.Omitted}
	for _, rejected := range batch.Rejected {
		recording.Rejected = append(recording.Rejected, places.rejection(rejected.Index, rejected.Reason))
	}
	for i := range batch.Positions {
		p := &batch.Positions[i]
		switch {
		case p.Time != 0: // that of the decoder, of a position without one
			recording.Positions = append(recording.Positions, *p)
		case len(recording.Rejected) < maxRejected:
			recording.Rejected = append(recording.Rejected, places.rejection(batch.Indexes[i], "t: missing: a recorded position needs its time"))
		default:
			recording.Omitted++
		}
	}
	slices.SortStableFunc(recording.Rejected, func(a, b Rejection) int { return cmp.Or(a.Line-b.Line, a.Index-b.Index) })
	return recording, nil
}

// maxRejected bounds the listed rejections, beside those of the decoder.
const maxRejected = 1000

// places has the number of the line of each element, or nil if the elements are no lines.
type places []int

func placesOf(text []byte) (p places) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] == '[' || json.Valid(trimmed) && bytes.Contains(bytes.TrimSpace(trimmed), []byte("\n")) {
		return nil
	}
	n := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if n++; len(bytes.TrimSpace(line)) > 0 {
			p = append(p, n)
		}
	}
	return p
}

func (p places) rejection(index int, reason string) Rejection {
	if index < len(p) {
		return Rejection{Line: p[index], Reason: reason}
	}
	return Rejection{Index: index, Reason: reason}
}
