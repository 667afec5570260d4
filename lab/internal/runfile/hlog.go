package runfile

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

	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

// logWriter writes a histogram log of HdrHistogram, version 1.3: a line for each second and
// histogram, with the tag "response", "service" or "lag". Lines of the warm-up and the grace have
// the phase as a prefix of the tag, as in "warmup-response", so that the plain tags hold the
// measurement.
type logWriter struct {
	encoder histogram.Encoder
	line    []byte
}

func (l *logWriter) head(w io.Writer, began time.Time) error {
	at := float64(began.UnixMilli()) / 1000
	_, err := fmt.Fprintf(w, "#[Histogram log format version 1.3]\n#[BaseTime: %.3f (seconds since epoch)]\n"+
		"#[StartTime: %.3f (seconds since epoch), %s]\n"+
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		at, at, began.UTC().Format(time.RFC3339))
	return err
}

func (l *logWriter) second(w io.Writer, p Phase, v *load.Interval, _ *process.TargetUse) error {
	l.line = l.line[:0]
	for _, h := range []struct {
		tag string
		of  *histogram.Histogram
	}{{"response", v.Response}, {"service", v.Service}, {"lag", v.Lag}} {
		tag := h.tag
		if p != Measured {
			tag = string(p) + "-" + tag
		}
		l.line = fmt.Appendf(l.line, "Tag=%s,%.3f,%.3f,%.3f,", tag, v.Start.Seconds(), v.Length.Seconds(), milliseconds(h.of.Max()))
		l.line = base64.StdEncoding.AppendEncode(l.line, l.encoder.Encode(h.of))
		l.line = append(l.line, '\n')
	}
	_, err := w.Write(l.line)
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// LogLine is one histogram of a log.
type LogLine struct {
	Tag           string // "" = none
	Start, Length time.Duration
	Histogram     *histogram.Histogram
}

// ReadLog yields the histograms of a log, as any program may have written it. An error
// names its line, and ends it.
func ReadLog(r io.Reader) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			l, ok, err := parseLine(lines.Text())
			if err != nil {
				yield(LogLine{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if ok && !yield(l, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(LogLine{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// parseLine reads one line; ok is false if it has no histogram.
func parseLine(line string) (l LogLine, ok bool, err error) {
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
