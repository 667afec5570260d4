package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorder is a handler that records its calls.
type recorder struct {
	events []string
	p      *Parser
}

func (r *recorder) add(format string, args ...any) error {
	r.events = append(r.events, fmt.Sprintf(format, args...))
	return nil
}

func (r *recorder) OnConnect(options []byte) error {
	r.p.MustAuth = false
	r.p.Headers = !r.p.Headers
	r.p.Pedantic = !r.p.Pedantic
	return r.add("connect %q", options)
}

func (r *recorder) OnInvalidSubject() { r.add("invalid subject") } //nolint:errcheck // nil

func (r *recorder) OnPublish(p *Publication) error {
	if form := exactForm(p); p.Exact != nil && string(p.Exact) != form {
		return r.add("%q is not %q", p.Exact, form)
	}
	if line, rest, _ := strings.Cut(string(r.p.Written), crlf); line != "" {
		if rest != string(p.Payload)+crlf {
			return r.add("%q is not %q", rest, p.Payload)
		}
		return r.add("publish %q %q %d %q as %q", p.Subject, p.Reply, p.Header, p.Payload, line)
	}
	return r.add("publish %q %q %d %q", p.Subject, p.Reply, p.Header, p.Payload)
}

// exactForm returns the bytes of a message behind the subscription's id.
func exactForm(p *Publication) string {
	return fmt.Sprintf("%s%d\r\n%s\r\n", AppendReply(nil, p.Reply), len(p.Payload), p.Payload)
}

func (r *recorder) OnSubscribe(subject, queue, sid []byte) error {
	return r.add("subscribe %q %q %q", subject, queue, sid)
}

func (r *recorder) OnUnsubscribe(sid []byte, limit uint64) error {
	return r.add("unsubscribe %q %d", sid, limit)
}
func (r *recorder) OnPing() error               { return r.add("ping") }
func (r *recorder) OnPong() error               { return r.add("pong") }
func (r *recorder) OnInfo(options []byte) error { return r.add("info %q", options) }

// Small limits, so that short inputs reach them.
const (
	testMaxLine    = 24
	testMaxPayload = 40
)

// parse feeds the pieces, each in a buffer that is overwritten afterwards.
func parse(t testing.TB, mustAuth bool, pieces ...[]byte) []string {
	p := &Parser{MaxLine: testMaxLine, MaxPayload: testMaxPayload, Headers: true, MustAuth: mustAuth}
	r := &recorder{p: p}
	for _, piece := range pieces {
		buf := slices.Clone(piece)
		err := p.Feed(buf, r)
		for i := range buf {
			buf[i] = '#'
		}
		if err != nil {
			return append(r.events, "end: "+err.Error())
		}
		if limit := testMaxLine + len("CONNECT") + 2; len(p.line) > limit {
			t.Fatalf("carries %d bytes of a line, more than %d", len(p.line), limit)
		}
		if limit := testMaxPayload + len(crlf); len(p.payload) > limit {
			t.Fatalf("carries %d bytes of a payload, more than %d", len(p.payload), limit)
		}
	}
	return r.events
}

// The histories under testdata test the operations themselves; this tests that every way of
// splitting the bytes gives the same calls as one read.
func TestParserOperations(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"two operations in one read", "SUB a 1\r\nSUB b q 2\r\n", `subscribe "a" "" "1"|subscribe "b" "q" "2"`},
		{"part of an operation", "SUB a 1\r\nSUB", `subscribe "a" "" "1"`},
		{"payload with line ends", "PUB a 4\r\n\r\n\r\n\r\n", `publish "a" "" 0 "\r\n\r\n"`},
		{"payload not complete", "PUB a 4\r\nabc", ``},
		{"reply and header", "HPUB a r 2 4\r\nxxyy\r\n", `publish "a" "r" 2 "xxyy"`},
		{"wrong end after its first byte", "PUB a 1\r\nxy", "end: unknown operation"},
		{"wrong end after its second byte", "PUB a 1\r\nx\rz", "end: unknown operation"},
		{"payload at its bound", "PUB a 40\r\n" + strings.Repeat("x", 40) + "\r\n", `publish "a" "" 0 "` + strings.Repeat("x", 40) + `"`},
		{"payload above its bound", "PUB a 41\r\n", "end: payload too large"},
		{"endless line", "SUB " + strings.Repeat("x", 25), "end: control line too long"},
		{"a CR at the bound is free", "SUB " + strings.Repeat("x", 22) + " 1\r\n", `subscribe "` + strings.Repeat("x", 22) + `" "" "1"`},
		{"endless ping", "PING" + strings.Repeat("x", 100) + "\n", "ping"},
		{"empty line", "\r\n", "end: unknown operation"},
		{"size with a sign", "PUB a +1\r\n", "end: malformed arguments"},
		{"blanks before arguments are free", "SUB" + strings.Repeat(" ", 60) + "a 1\r\n", `subscribe "a" "" "1"`},
		{"blanks behind them are not", "SUB a 1" + strings.Repeat(" ", 22) + "\r\n", "end: control line too long"},
		{"a line feed before arguments", "SUB \na 1\r\n", `subscribe "a" "" "1"`},
		{"a line feed in a subject", "PUB \na 1\r\nx\r\n", "end: malformed arguments"},
		{"a line feed in a subject with headers", "HPUB \na 0 1\r\nx\r\n", "end: malformed arguments"},
		{"a CR within a line", "SUB a\rb 12\n", `subscribe "a" "b" "1"`},
		{"a CR in a subject", "PUB a\rb 12\nx\r\n", "end: malformed arguments"},
		{"a CR in a reply", "PUB a b\r 1\r\nx\r\n", "end: malformed arguments"},
		{"sizes with leading zeros", "HPUB a r 02 004\r\nxxyy\r\n", `publish "a" "r" 2 "xxyy" as "r 02 004"`},
		{"a size with leading zeros", "PUB a 01\r\nx\r\n", `publish "a" "" 0 "x" as "01"`},
		{"a pedantic client's subject", "CONNECT {}\r\nPUB a..b 9\r\n", `connect "{}"|invalid subject`},
		{"CONNECT without space", "CONNECT{}\r\n", `connect "{}"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(parse(t, false, []byte(tc.in)), "|"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestParserDemandsConnectFirst(t *testing.T) {
	for in, want := range map[string]string{
		"PING\r\n":               "end: operation before CONNECT",
		"\r\n":                   "end: operation before CONNECT",
		"connect {}\r\nPING\r\n": `connect "{}"|ping`,
		"CX\r\n":                 "end: unknown operation",
	} {
		if got := strings.Join(parse(t, true, []byte(in)), "|"); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// FuzzParser: any split gives the same operations and the same end as one read,
// and the carry-over stays bounded.
func FuzzParser(f *testing.F) {
	files, err := filepath.Glob("../../testdata/protocol/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if _, op, ok := strings.Cut(line, "> "); ok {
				f.Add([]byte(op+"\r\nPING\r\n"), uint16(7), false)
			}
		}
	}
	f.Add([]byte("PUB a.b 3\r\nabc\r\nPUB subject reply 010\r\n0123456789\r\nPUB a\tb 2\r\nxy\r\nPUB longer.subject r.2 10\r\n0123456789\r\n"), uint16(9), false)
	f.Add([]byte("CONNECT {}\r\nSUB a.* 1\r\nPUB a.b 3\r\nabc\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"), uint16(3), true)
	f.Add([]byte("CONNECT\n{}\r\nSUB  \t\na 1\r\nPING \r\r\nUNSUB \t 1 2 \r\nPUB \rb 1\r\nx\r\n"), uint16(5), false)
	f.Add([]byte("PUB a 0003\r\nabc\r\nHPUB a r 02 004\r\nxxyy\r\nHPUB a 00 01\r\nz\r\nCONNECT {}\nPUB a..b 1\r\nx\r\n"), uint16(11), false)
	f.Fuzz(func(t *testing.T, in []byte, seed uint16, mustAuth bool) {
		want := parse(t, mustAuth, in)
		for name, pieces := range map[string][][]byte{
			"byte by byte": splitEvery(in, 1),
			"in two":       splitAt(in, int(seed)),
			"in pieces":    splitEvery(in, 1+int(seed)%13),
		} {
			if got := parse(t, mustAuth, pieces...); !slices.Equal(got, want) {
				t.Fatalf("%s:\n got %q\nwant %q", name, got, want)
			}
		}
	})
}

func splitEvery(in []byte, n int) [][]byte { return slices.Collect(slices.Chunk(in, n)) }

func splitAt(in []byte, n int) [][]byte {
	n %= len(in) + 1
	return [][]byte{in[:n], in[n:]}
}
