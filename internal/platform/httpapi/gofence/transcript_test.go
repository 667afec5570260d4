package gofence_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"paddock/fence"
	"paddock/internal/platform/httpapi/gofence"
)

// ioTimeout ends a test whose server does not answer. It measures nothing.
const ioTimeout = 20 * time.Second

// TestTranscripts plays testdata/*.http with every kind of index, with and without the fast path:
// the client's lines, and each byte of the answers, over a real socket. Format of a file:
//
//	# comment; a line of its own
//	=== name of the case; starts with fresh sets
//	> line sent; the request line and header fields end in CR LF, an empty one ends the head
//	>q "Go-quoted piece of the body"
//	>* 5   that many spaces of the body
//	< line received, likewise
//	<q "Go-quoted piece of the body"
//
// A case is a conversation on one connection; >< pairs may follow each other. The lines of a body
// are joined by LF, so that a body that ends in LF has an empty last line. Content-Length and Host
// of a request are added if they are absent. Received header fields are compared without order, all
// except Date.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.http")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	fresh := func(kind fence.Kind) *fence.Catalog { return testCatalog(t, kind) }
	untouched := map[fence.Kind]*fence.Catalog{}
	for _, kind := range fence.Kinds() {
		untouched[kind] = fresh(kind)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range parseTranscript(t, file, string(text)) {
			sets := func(kind fence.Kind) *fence.Catalog { return untouched[kind] }
			if c.changesSets() {
				sets = fresh
			}
			name := strings.TrimSuffix(filepath.Base(file), ".http")
			for _, kind := range fence.Kinds() {
				t.Run(fmt.Sprintf("%s/%s/%s", name, c.name, kind), func(t *testing.T) {
					h := gofence.New(sets(kind), gofence.Options{Profile: true})
					c.play(t, dial(t, serve(t, h)))
				})
			}
			t.Run(fmt.Sprintf("%s/%s/plain", name, c.name), func(t *testing.T) {
				h := gofence.New(sets(fence.DefaultKind), gofence.Options{Profile: true})
				c.play(t, dial(t, serveWith(t, gofence.NewServer(h, "", discard))))
			})
		}
	}
}

// conversation is one case of a transcript.
type conversation struct {
	name      string
	exchanges []exchange
}

type exchange struct {
	line           int // of the file
	sent, received message
}

// message is a head, each line of it, and a body.
type message struct {
	head []string
	body []byte
}

// changesSets reports whether it needs sets of its own, because it adds a fence.
func (c conversation) changesSets() bool {
	return slices.ContainsFunc(c.exchanges, func(e exchange) bool { return strings.Contains(e.sent.head[0], "/add") })
}

func (c conversation) play(t *testing.T, conn net.Conn) {
	in := bufio.NewReader(conn)
	for _, e := range c.exchanges {
		var sender sync.WaitGroup
		sender.Go(func() { _, _ = conn.Write(e.sent.wire()) }) // a body may be refused before its end
		got, err := readResponse(in, strings.HasPrefix(e.sent.head[0], "HEAD "))
		if err != nil {
			t.Fatalf("line %d: %v", e.line, err)
		}
		if want := e.received.String(); got.String() != want {
			t.Errorf("line %d: %s\ngot:\n%s\nwant:\n%s", e.line, e.sent.head[0], got, want)
		}
		sender.Wait()
	}
}

// String returns the message in the form for comparisons.
func (m message) String() string {
	fields := slices.Sorted(slices.Values(m.head[1:]))
	return fmt.Sprintf("%s\n%s\n%q", m.head[0], strings.Join(fields, "\n"), m.body)
}

// wire returns the bytes of the message.
func (m message) wire() []byte {
	head := slices.Clone(m.head)
	has := func(field string) bool {
		return slices.ContainsFunc(head, func(l string) bool { return strings.HasPrefix(l, field+":") })
	}
	if !has("Host") {
		head = append(head, "Host: localhost")
	}
	if m.body != nil && !has("Content-Length") && !has("Transfer-Encoding") {
		head = append(head, "Content-Length: "+strconv.Itoa(len(m.body)))
	}
	return append([]byte(strings.Join(head, "\r\n")+"\r\n\r\n"), m.body...)
}

// readResponse reads one response in its wire form, except for the chunks of its body and for Date.
func readResponse(in *bufio.Reader, toHead bool) (message, error) {
	var m message
	chunked := false
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return m, fmt.Errorf("in the head after %q: %w", m.head, err)
		}
		line, ok := strings.CutSuffix(line, "\r\n")
		if !ok {
			return m, fmt.Errorf("line %q does not end in CR LF", line)
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Date":
			continue
		case "Content-Length":
			if length, err = strconv.Atoi(value); err != nil {
				return m, err
			}
		case "Transfer-Encoding":
			chunked = value == "chunked"
		}
		m.head = append(m.head, line)
	}
	var err error
	switch {
	case toHead:
	case chunked:
		if m.body, err = io.ReadAll(httputil.NewChunkedReader(in)); err == nil {
			_, err = in.Discard(len("\r\n"))
		}
	default:
		m.body = make([]byte, length)
		_, err = io.ReadFull(in, m.body)
	}
	return m, err
}

// parseTranscript reads the format that TestTranscripts describes.
func parseTranscript(t *testing.T, file, text string) []conversation {
	var cases []conversation
	var m *message // being read
	sending, inBody := false, false
	next := func(send bool, line int) {
		c := &cases[len(cases)-1]
		if send {
			c.exchanges = append(c.exchanges, exchange{line: line})
		}
		e := &c.exchanges[len(c.exchanges)-1]
		m = &e.received
		if send {
			m = &e.sent
		}
		sending, inBody = send, false
	}
	var open bool // the next body line follows an LF
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "=== "); ok {
			cases, m = append(cases, conversation{name: name}), nil
			continue
		}
		if len(cases) == 0 || line[0] != '>' && line[0] != '<' || m == nil && line[0] == '<' {
			t.Fatalf("%s:%d: out of place: %s", file, i+1, line)
		}
		if send := line[0] == '>'; m == nil || send != sending {
			next(send, i+1)
			open = false
		}
		kind, rest, _ := strings.Cut(line[1:], " ")
		switch {
		case kind == "" && !inBody && rest == "":
			inBody = true
		case kind == "" && !inBody:
			m.head = append(m.head, rest)
		case kind == "":
			if open {
				m.body = append(m.body, '\n')
			}
			m.body, open = append(m.body, rest...), true
		case kind == "q":
			piece, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			m.body = append(m.body, piece...)
		case kind == "*":
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			m.body = append(m.body, bytes.Repeat([]byte(" "), n)...)
		default:
			t.Fatalf("%s:%d: unknown mark: %s", file, i+1, line)
		}
	}
	return cases
}

// testCatalog loads testdata/sets, the sets of all transcripts.
func testCatalog(t testing.TB, kind fence.Kind) *fence.Catalog {
	t.Helper()
	return load(t, os.DirFS("testdata/sets"), kind)
}

// catalogOf loads files: name to content.
func catalogOf(t testing.TB, files map[string]string) *fence.Catalog {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return load(t, fsys, fence.DefaultKind)
}
