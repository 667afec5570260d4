package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"paddock/bus/internal/protocol"
)

// LevelTrace is the level of the lines that Config.Trace asks for.
const LevelTrace = slog.LevelDebug - 4

// tracedBytes is how much of a line or a payload is logged.
const tracedBytes = 1024

// tracer logs the operations of one connection, as the reference server does: received ones with
// "<<-", sent ones with "->>". A connection without trace has none.
type tracer struct {
	c       *client
	in, out traceSide // the reader's, the writer's
}

// traceSide splits one direction into lines and payloads, however the bytes come.
type traceSide struct {
	arrow string
	line  []byte // begun, its first bytes
	text  []byte // of the payload that is under way, its first bytes
	left  int    // bytes of that, with its line end
}

// newTracer returns nil if nothing is traced. A connection is traced from its beginning or not at
// all: from the middle of a payload on, lines could not be told from data.
func newTracer(c *client) *tracer {
	if !c.srv.cfg().Trace {
		return nil
	}
	return &tracer{c: c, in: traceSide{arrow: "<<-"}, out: traceSide{arrow: "->>"}}
}

// came logs the bytes of a read.
func (t *tracer) came(b []byte) {
	if t != nil {
		t.side(&t.in, b)
	}
}

// went logs n bytes that were written of a slab.
func (t *tracer) went(s *slab, n int) {
	if t != nil && !s.control {
		t.side(&t.out, s.rest()[:n])
	}
}

func (t *tracer) side(s *traceSide, b []byte) {
	for len(b) > 0 {
		if s.left > 0 {
			n := min(s.left, len(b))
			s.text = appendFirst(s.text, b[:n])
			if b, s.left = b[n:], s.left-n; s.left == 0 {
				t.say(s, fmt.Sprintf("MSG_PAYLOAD: [%q]", bytes.TrimSuffix(s.text, lineEnd)))
				s.text = s.text[:0]
			}
			continue
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			s.line = appendFirst(s.line, b)
			return
		}
		s.line, b = appendFirst(s.line, b[:end]), b[end+1:]
		if protocol.Continues(s.line) {
			s.line = appendFirst(s.line, lineEnd[1:])
			continue
		}
		line := bytes.TrimSuffix(s.line, []byte("\r"))
		s.left = payloadOf(line)
		t.say(s, "["+redacted(line)+"]")
		s.line = s.line[:0]
	}
}

func (t *tracer) say(s *traceSide, text string) {
	if t.c.srv.cfg().Trace {
		t.c.logger().Log(context.Background(), LevelTrace, s.arrow+" "+text)
	}
}

// appendFirst appends as much of b as is logged.
func appendFirst(dst, b []byte) []byte {
	return append(dst, b[:min(len(b), max(tracedBytes-len(dst), 0))]...)
}

// payloadOf is how many bytes follow a line, with their line end.
func payloadOf(line []byte) int {
	fields := bytes.Fields(line)
	if len(fields) < 3 {
		return 0
	}
	switch string(bytes.ToUpper(fields[0])) {
	case "PUB", "HPUB", "MSG", "HMSG":
		if n, ok := protocol.ParseSize(fields[len(fields)-1]); ok {
			return n + len(crlf)
		}
	}
	return 0
}

// secrets are the options of CONNECT that are not logged, in lower case. They count in any.
var secrets = []string{"pass", "auth_token", "jwt", "sig", "proxy_sig"}

// redacted is a line without secrets.
func redacted(line []byte) string {
	const connect = "CONNECT"
	if len(line) < len(connect) || !bytes.EqualFold(line[:len(connect)], []byte(connect)) {
		return string(line)
	}
	var options map[string]any
	if json.Unmarshal(line[len(connect):], &options) != nil {
		return connect + " [unreadable]"
	}
	for name := range options {
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.EqualFold(s, name) }) {
			options[name] = "[REDACTED]"
		}
	}
	text, err := json.Marshal(options)
	if err != nil {
		panic(err) // it was JSON
	}
	return connect + " " + string(text)
}
