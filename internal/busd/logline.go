package busd

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/bus"
)

// levelFatal is the level of the line that ends the program.
const levelFatal = slog.LevelError + 4

// lineTime is the format of the time, which follows the process id.
const lineTime = "2006/01/02 15:04:05.000000"

// lineHandler writes log lines in the form of nats-server, which tools parse:
//
//	[pid] 2006/01/02 15:04:05.000000 [INF] 10.0.0.1:5222 - cid:7 - text key=value
//
// The attributes client and cid, which the broker gives each line about a
// connection, become the prefix of the text.
type lineHandler struct {
	out    *lineOutput
	client string // prefix, when known
	cid    string
	attrs  string // further ones, rendered
	group  string
}

// lineOutput is the output that all handlers of one logger share.
type lineOutput struct {
	pid string

	mu     sync.Mutex // guards the fields below, and keeps lines whole
	w      io.Writer
	colors bool
	log    Log
}

var _ slog.Handler = (*lineHandler)(nil)

func newLineHandler(w io.Writer, log Log, colors bool) *lineHandler {
	pid := "[" + strconv.Itoa(os.Getpid()) + "] "
	return &lineHandler{out: &lineOutput{pid: pid, w: w, colors: colors, log: log}}
}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	switch {
	case l <= bus.LevelTrace:
		return h.out.log.Trace
	case l < slog.LevelInfo:
		return h.out.log.Debug
	}
	return true
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.group += name + "."
	return &c
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	for _, a := range attrs {
		c.add(a)
	}
	return &c
}

// add adds an attribute: client and cid to the prefix, all others to the end of the line.
func (h *lineHandler) add(a slog.Attr) {
	value := a.Value.Resolve()
	switch key := h.group + a.Key; {
	case key == "":
	case key == "client":
		h.client = value.String()
	case key == "cid":
		h.cid = value.String()
	case value.Kind() == slog.KindGroup:
		inner := lineHandler{group: key + "."}
		for _, a := range value.Group() {
			inner.add(a)
		}
		h.attrs += inner.attrs
	default:
		h.attrs += " " + key + "=" + quoted(value.String())
	}
}

// quoted returns a value as one word on one line: in quotes if it is empty, or contains a space, a
// = or a character that needs an escape.
func quoted(s string) string {
	if plain := strconv.Quote(s); len(plain) != len(s)+2 || s == "" {
		return plain
	}
	if strings.ContainsAny(s, " =") {
		return strconv.Quote(s)
	}
	return s
}

// oneLine keeps a message to one line.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	c := *h
	r.Attrs(func(a slog.Attr) bool { c.add(a); return true })
	o := h.out
	o.mu.Lock()
	defer o.mu.Unlock()
	line := append(make([]byte, 0, 160), o.pid...)
	if !o.log.NoTime {
		t := r.Time
		if o.log.UTC {
			t = t.UTC()
		}
		if t.IsZero() {
			t = time.Now()
		}
		line = append(t.AppendFormat(line, lineTime), ' ')
	}
	line = append(o.appendLevel(line, r.Level), ' ')
	if c.client != "" {
		line = append(line, c.client+" - cid:"+c.cid+" - "...)
	}
	line = append(append(append(line, oneLine.Replace(r.Message)...), c.attrs...), '\n')
	_, err := o.w.Write(line)
	return err
}

// levels are the names of levels, with the colours of a terminal.
var levels = []struct {
	from  slog.Level
	name  string
	color string
}{
	{levelFatal, "FTL", "31"},
	{slog.LevelError, "ERR", "31"},
	{slog.LevelWarn, "WRN", "33"},
	{slog.LevelInfo, "INF", "32"},
	{slog.LevelDebug, "DBG", "36"},
}

func (o *lineOutput) appendLevel(line []byte, l slog.Level) []byte {
	name, color := "TRC", "35"
	for _, known := range levels {
		if l >= known.from {
			name, color = known.name, known.color
			break
		}
	}
	if o.colors {
		return append(line, "[\x1b["+color+"m"+name+"\x1b[0m]"...)
	}
	return append(line, "["+name+"]"...)
}
