package origins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/lab/internal/documents"
	"paddock/lab/process"
)

const (
	// leastCount is the least count that the scale makes of a larger one.
	leastCount = 1000
	// overhead is about how long processes take to start and end.
	overhead = 3 * time.Second
	// stopWithin is how long a run of ours may take to end after SIGTERM.
	stopWithin = 30 * time.Second
	// maxObject bounds what a run of ours prints, in bytes. More of it is an error.
	maxObject = 16 << 20
)

// scaled lists the flags whose values the scale multiplies.
var scaled = []string{"-n", "--count", "--stream", "-d"}

// commands returns the command lines of a row at a scale, and about how long they take. A duration
// is a whole number of seconds, or of tenths of one that has less than ten; a count is at least
// 1000, unless the document's is less.
func commands(row *documents.Row, scale float64) (lines [][]string, lasts time.Duration) {
	lasts = time.Duration(float64(row.Seconds) * scale * float64(time.Second))
	for _, line := range row.Run {
		words := strings.Fields(strings.NewReplacer("$NAME", row.Name, "$ARG", row.Arg).Replace(line))
		for i := 1; i < len(words); i++ {
			if !slices.Contains(scaled, words[i-1]) {
				continue
			}
			if n, err := strconv.ParseFloat(words[i], 64); err == nil {
				words[i] = strconv.FormatFloat(max(math.Round(n*scale), min(n, leastCount)), 'f', -1, 64)
			} else if d, err := time.ParseDuration(words[i]); err == nil {
				least := min(d/10, time.Second)
				d = max(time.Duration(float64(d)*scale).Round(least), least)
				if most := time.Duration(row.Table.Cap) * time.Second; scale < 1 && most > 0 {
					d = min(d, most)
				}
				words[i] = fmt.Sprintf("%gs", d.Seconds())
				if row.Seconds == 0 {
					lasts += d
				}
			}
		}
		lines, lasts = append(lines, words), lasts+overhead
	}
	return lines, lasts
}

// after returns the word behind a flag; "" if there is none.
func after(words []string, flag string) string {
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// take is one run of a contender.
type take struct {
	server  string   // that was asked
	foreign bool     // the docs are peers.Figures, in which 0 is unknown and shares are percentages
	raw     [][]byte // the object of each command
	docs    []any    // the same
}

// add adds the object of a command.
func (t *take) add(text []byte) error {
	var doc any
	err := json.Unmarshal(text, &doc)
	t.raw, t.docs = append(t.raw, text), append(t.docs, doc)
	return err
}

// commands runs this program with each of the command lines.
func (r *Runner) commands(ctx context.Context, s *served, lines [][]string) (*take, error) {
	t := &take{server: s.name}
	for _, words := range lines {
		var args []string
		for _, word := range words {
			if word != "$PARENTS" {
				args = append(args, s.replace(word))
			} else if s.parents != "" {
				args = append(args, "--parents", s.parents)
			}
		}
		text, err := r.child(ctx, args)
		if err == nil {
			err = t.add(text)
		}
		if err != nil {
			return nil, err
		}
	}
	if object, ok := t.docs[0].(map[string]any); ok && s.started > 0 {
		object["start_ns"] = float64(s.started)
	}
	return t, nil
}

// child runs this program, and returns what it prints.
func (r *Runner) child(ctx context.Context, args []string) ([]byte, error) {
	cmd := exec.Command(r.Program, append([]string{"bench"}, args...)...)
	cmd.Env = process.Environment()
	var out bytes.Buffer // of one goroutine, until the child has ended
	child, err := process.Spawn("paddock bench "+args[0], cmd, process.Options{Follows: true}, func(line []byte) {
		if out.Len() <= maxObject {
			out.Write(line)
			out.WriteByte('\n')
		}
	}, nil)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), child.Stop(stopWithin))
	case <-child.Ended():
	}
	if out.Len() > maxObject {
		return nil, fmt.Errorf("%v has printed more than %d bytes", cmd, maxObject)
	}
	return out.Bytes(), child.ExitError()
}

// figures returns the figures of a row, by column and in its unit, that a contender has.
func (t *take) figures(row *documents.Row, name string) map[string]float64 {
	figures := map[string]float64{}
	for _, c := range row.Table.Columns {
		if c.Run >= len(t.docs) || name != ours && c.Of != "" && c.Of != name {
			continue
		}
		path := c.From
		if t.foreign {
			path = c.Peer
		}
		path, over, ratio := strings.Cut(strings.ReplaceAll(path, "$INDEX", strconv.Itoa(row.Index)), "/")
		v, ok := at(t.docs[c.Run], path).(float64)
		if total, _ := at(t.docs[c.Run], over).(float64); ratio {
			v, ok = v/total, ok && total > 0
		}
		switch {
		case c.Unit == "us":
			v *= 1e6
		case c.Unit == "ms":
			v /= float64(time.Millisecond) // times are ns in all objects
		case c.Unit == "%" && !t.foreign:
			v *= 100
		}
		if ok && (v != 0 || !t.foreign) {
			figures[c.ID] = v
		}
	}
	return figures
}

// at returns the value at a path of an object: names of members and indexes of elements, with dots
// between them. It is nil if there is none.
func at(doc any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
				doc = v[i]
			} else {
				return nil
			}
		default:
			return nil
		}
	}
	return doc
}
