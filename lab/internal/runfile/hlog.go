package runfile

import (
	"encoding/base64"
	"fmt"
	"io"
	"time"

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

func (l *logWriter) second(w io.Writer, p Phase, v *load.Interval) error {
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
