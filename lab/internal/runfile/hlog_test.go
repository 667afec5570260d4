package runfile_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"paddock/load/histogram"
)

// logLine is one histogram of a log.
type logLine struct {
	Tag           string // "" = none
	Start, Length time.Duration
	Histogram     *histogram.Histogram
}

// maxLine bounds a line: the longest histogram there is, as base64.
const maxLine = 1 << 20

// readLog yields the histograms of a log, as any program may have written it. An error
// names its line, and ends it.
func readLog(r io.Reader) iter.Seq2[logLine, error] {
	return func(yield func(logLine, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			l, ok, err := parseLogLine(lines.Text())
			if err != nil {
				yield(logLine{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if ok && !yield(l, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(logLine{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// parseLogLine reads one line; ok is false if it has no histogram.
func parseLogLine(line string) (l logLine, ok bool, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == '"' {
		return l, false, nil
	}
	if rest, tagged := strings.CutPrefix(line, "Tag="); tagged {
		l.Tag, line, _ = strings.Cut(rest, ",")
	}
	fields := strings.Split(line, ",")
	if len(fields) != 4 {
		return l, false, fmt.Errorf("%d fields, where a log has 4", len(fields))
	}
	if l.Start, err = seconds(fields[0]); err != nil {
		return l, false, fmt.Errorf("its start: %w", err)
	}
	if l.Length, err = seconds(fields[1]); err != nil {
		return l, false, fmt.Errorf("its length: %w", err)
	}
	packed, err := base64.StdEncoding.DecodeString(fields[3])
	if err != nil {
		return l, false, fmt.Errorf("its histogram: %w", err)
	}
	l.Histogram, err = histogram.Decode(packed)
	return l, err == nil, err
}

// seconds parses a number of seconds within the range of a duration.
func seconds(text string) (time.Duration, error) {
	s, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, err
	case !(s >= 0 && s < math.MaxInt64/1e9): // not a number fails too
		return 0, fmt.Errorf("%s is no number of seconds", text)
	}
	return time.Duration(math.Round(s * 1e9)), nil
}
