package website

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// maxUnwritten bounds the queued lines, in bytes. At the bound further lines are dropped and
	// counted.
	maxUnwritten = 1 << 20
	// writeEvery is the interval of writes.
	writeEvery = 50 * time.Millisecond
)

// RequestLog writes a line for each answered request: in the Common Log Format, or as JSON.
// Requests do not wait for the writes. A nil log writes nothing.
type RequestLog struct {
	out        io.Writer
	json       bool
	errorsOnly bool

	mu      sync.Mutex
	lines   []byte // not yet written
	lost    uint64
	closed  bool
	waiting chan struct{} // holds one if there are lines
	ended   chan struct{} // closed by run
}

// NewRequestLog returns a log that writes to out until Close. errorsOnly omits answers with a
// status below 400.
func NewRequestLog(out io.Writer, json, errorsOnly bool) *RequestLog {
	l := &RequestLog{out: out, json: json, errorsOnly: errorsOnly, waiting: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.run()
	return l
}

// Close writes the queued lines. Later lines are dropped.
func (l *RequestLog) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wake()
	<-l.ended
}

// request is the content of a line.
type request struct {
	begun                         time.Time
	took                          time.Duration
	remote, method, target, proto string
	status                        int
	bytes                         int64 // of the body
}

// wants reports whether a request with this status is logged.
func (l *RequestLog) wants(status int) bool {
	return l != nil && (!l.errorsOnly || status >= http.StatusBadRequest)
}

func (l *RequestLog) add(r request) {
	if !l.wants(r.status) {
		return
	}
	line := r.common
	if l.json {
		line = r.json
	}
	l.mu.Lock()
	switch {
	case l.closed:
	case len(l.lines) >= maxUnwritten:
		l.lost++
	default:
		l.lines = line(l.lines)
	}
	l.mu.Unlock()
	l.wake()
}

func (l *RequestLog) wake() {
	select {
	case l.waiting <- struct{}{}:
	default:
	}
}

// run writes queued lines until the log is closed.
func (l *RequestLog) run() {
	defer close(l.ended)
	pause := time.NewTicker(writeEvery)
	defer pause.Stop()
	var spare []byte
	for range l.waiting {
		l.mu.Lock()
		lines, lost, closed := l.lines, l.lost, l.closed
		l.lines, l.lost = spare[:0], 0
		l.mu.Unlock()
		if lost > 0 {
			lines = l.tellLost(lines, lost)
		}
		if len(lines) > 0 {
			_, _ = l.out.Write(lines) // a failed output does not stop the server
		}
		if spare = lines; closed {
			return
		}
		<-pause.C
	}
}

// tellLost appends the number of dropped lines.
func (l *RequestLog) tellLost(b []byte, lost uint64) []byte {
	if l.json {
		return fmt.Appendf(b, "{\"lost\":%d}\n", lost)
	}
	return fmt.Appendf(b, "# %d requests came faster than they could be written\n", lost)
}

// common appends the line of the Common Log Format.
func (r request) common(b []byte) []byte {
	b = append(b, r.host()...)
	b = append(b, " - - "...)
	b = r.begun.AppendFormat(b, "[02/Jan/2006:15:04:05 -0700]")
	b = append(b, ` "`...)
	b = appendEscaped(b, r.method)
	b = append(b, ' ')
	b = appendEscaped(b, r.target)
	b = append(b, ' ')
	b = appendEscaped(b, r.proto)
	b = append(b, `" `...)
	b = strconv.AppendInt(b, int64(r.status), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, r.bytes, 10)
	return append(b, '\n')
}

func (r request) host() string {
	if host, _, err := net.SplitHostPort(r.remote); err == nil {
		return host
	}
	return "-"
}

// appendEscaped appends a value from a client, with quotes, backslashes and all bytes that are not
// printable ASCII as \xHH, so that a line stays one line.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// json appends an object.
func (r request) json(b []byte) []byte {
	line, err := json.Marshal(struct {
		Time       time.Time `json:"time"`
		Remote     string    `json:"remote"`
		Method     string    `json:"method"`
		Target     string    `json:"target"`
		Proto      string    `json:"proto"`
		Status     int       `json:"status"`
		Bytes      int64     `json:"bytes"`
		DurationMS float64   `json:"duration_ms"`
	}{r.begun, r.host(), r.method, r.target, r.proto, r.status, r.bytes, float64(r.took) / float64(time.Millisecond)})
	if err != nil {
		return b
	}
	return append(append(b, line...), '\n')
}
