package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// tracedBytes bounds the part of a line or a payload that is logged.
const tracedBytes = 1024

// Trace turns one direction of a connection into the lines of a log, with each operation and each
// payload, however the bytes come.
type Trace struct {
	Log  func(text string)
	line []byte // begun, its first bytes
	text []byte // of the payload that is under way, its first bytes
	left int    // bytes of that, with its line end
}

// Feed takes the next bytes.
func (t *Trace) Feed(b []byte) {
	for len(b) > 0 {
		if t.left > 0 {
			n := min(t.left, len(b))
			t.text = appendFirst(t.text, b[:n])
			if b, t.left = b[n:], t.left-n; t.left == 0 {
				t.Log(fmt.Sprintf("MSG_PAYLOAD: [%q]", bytes.TrimSuffix(t.text, []byte(crlf))))
				t.text = t.text[:0]
			}
			continue
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			t.line = appendFirst(t.line, b)
			return
		}
		t.line, b = appendFirst(t.line, b[:end]), b[end+1:]
		if Continues(t.line) {
			t.line = appendFirst(t.line, []byte("\n"))
			continue
		}
		line := bytes.TrimSuffix(t.line, []byte("\r"))
		t.left = payloadOf(line)
		t.Log("[" + redacted(line) + "]")
		t.line = t.line[:0]
	}
}

// appendFirst appends as much of b as is logged.
func appendFirst(dst, b []byte) []byte {
	return append(dst, b[:min(len(b), max(tracedBytes-len(dst), 0))]...)
}

// payloadOf returns the number of bytes that follow a line, with their line end.
func payloadOf(line []byte) int {
	fields := bytes.Fields(line)
	if len(fields) < 3 {
		return 0
	}
	switch string(bytes.ToUpper(fields[0])) {
	case "PUB", "HPUB", "MSG", "HMSG":
		if n, ok := ParseSize(fields[len(fields)-1]); ok {
			return n + len(crlf)
		}
	}
	return 0
}

// secrets are the options of CONNECT that are not logged, in lower case. They count in any.
var secrets = []string{"pass", "auth_token", "jwt", "sig", "proxy_sig"}

// redacted returns a line without secrets.
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
