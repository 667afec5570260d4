package wiredump

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vector is a case of the protocol's vectors.
type vector struct {
	name, want string
	bytes      []byte
}

func readVectors(t testing.TB, file string) (vectors []vector) {
	t.Helper()
	f, err := os.Open("../wire/frame/testdata/vectors/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch {
		case word == "name":
			vectors = append(vectors, vector{name: rest})
		case len(vectors) == 0:
		case word == "hex":
			b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			last := &vectors[len(vectors)-1]
			last.bytes = append(last.bytes, b...)
		case word == "text", word == "error", word == "incomplete":
			vectors[len(vectors)-1].want = lines.Text()
		}
	}
	if len(vectors) < 50 {
		t.Fatalf("%s: %d vectors", file, len(vectors))
	}
	return vectors
}

// hello frames the payload of a HELLO.
func hello(payload []byte) []byte {
	return append(frame.MakeHeader(frame.HELLO, 0, 0, len(payload)).Append(nil), payload...)
}

func dump(b []byte, o Options) (string, error) {
	var out bytes.Buffer
	err := Capture(&out, bytes.NewReader(b), o)
	return out.String(), err
}

// TestVectors checks that every vector is shown, and that a refused one fails and is shown with its
// reason.
func TestVectors(t *testing.T) {
	var golden strings.Builder
	for _, file := range []string{"frames.txt", "hello.txt"} {
		for _, v := range readVectors(t, file) {
			b := v.bytes
			if file == "hello.txt" {
				b = hello(b)
			}
			out, err := dump(b, Options{Body: 40, MaxFrame: 65536})
			fmt.Fprintf(&golden, "%s\n%s\n", v.name, out)
			switch kind, rest, _ := strings.Cut(v.want, " "); kind {
			case "text":
				if err != nil || strings.Count(out, "\n") != 1 {
					t.Errorf("%s: %v\n%s", v.name, err, out)
				}
				sameFlags(t, v, out)
			case "error":
				code, reason, _ := strings.Cut(rest, " ")
				var broken *frame.ProtocolError
				if !errors.Is(err, ErrBroken) || !errors.As(err, &broken) || string(broken.Reason) != reason {
					t.Errorf("%s: %v", v.name, err)
				}
				if !strings.Contains(out, code) || !strings.Contains(out, reason) {
					t.Errorf("%s: %s does not say %s", v.name, out, v.want)
				}
			case "incomplete":
				if len(b) == 0 {
					break // an empty input is complete
				}
				if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(out, "! offset 0: ") {
					t.Errorf("%s: %v\n%s", v.name, err, out)
				}
			}
		}
	}
	compare(t, "testdata/vectors.golden", golden.String())
}

// sameFlags compares the names of flags with those of package wire.
func sameFlags(t *testing.T, v vector, out string) {
	capitals := func(text string) (words []string) {
		text, _, _ = strings.Cut(text, `"`)
		for word := range strings.FieldsSeq(text) {
			if slices.Contains([]string{"ACK", "COMP", "MORE", "META", "ERR", "END", "CONFIRM", "STOP", "PONG"}, word) {
				words = append(words, word)
			}
		}
		return words
	}
	_, shown, _ := strings.Cut(out, "  ")
	if got, want := capitals(shown), capitals(v.want); !slices.Equal(got, want) {
		t.Errorf("%s: flags %v, want %v", v.name, got, want)
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d differs (-update writes it): got %q", file, i+1, gotLines[min(i, len(gotLines)-1)])
		}
	}
}

// conversation returns the frames of a dialer, each in the notation of AppendFrame.
func conversation(t testing.TB) []byte {
	t.Helper()
	payload, err := frame.AppendHello(nil, wire.Hello{
		Agent: "test", Auth: &wire.Auth{Scheme: "token", Data: []byte("very secret")},
		Kinds: map[string]uint32{"pos.update": 1, "fence.search": 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	slot := func(index uint32) uint32 { return uint32(frame.MakeSlot(frame.Dialer, index, 1)) }
	b := append([]byte(frame.Preface), hello(payload)...)
	for _, f := range []frame.Frame{
		{Type: frame.POST, ID: 1, Body: []byte("\xa2\x61a\x01\x61b\xfb\x40\x44\x66\x66\x66\x66\x66\x66")},
		{Type: frame.POSTS, Flags: frame.FlagAck, ID: 1, Body: []byte("\x02hi\x00\x03\x00\x01\x02")},
		{Type: frame.REQ, Flags: frame.FlagMeta, ID: slot(1), Kind: 2, Meta: wire.Meta{Raw: []byte("\xa1\x01\x18\xfa")}, Body: []byte("a\x1b[31m")},
		{Type: frame.BIND, ID: 3, Text: []byte("fence.events"), Codec: []byte("cbor")},
		{Type: frame.OPEN, Flags: frame.FlagConfirm, ID: slot(2), Kind: 3},
		{Type: frame.DATA, Flags: frame.FlagEnd, ID: slot(2), Body: []byte("\x81\x01")},
		{Type: frame.CANCEL, ID: slot(1)},
		{Type: frame.RESET, Flags: frame.FlagStop, ID: slot(2), Code: 4097, Text: []byte("\u009b31m enough")},
		{Type: frame.POST, ID: 9, Body: []byte("unbound")},
		{Type: frame.GOAWAY, ID: 2, Text: []byte("bye")},
	} {
		b = frame.AppendFrame(b, &f)
	}
	return b
}

func TestConversation(t *testing.T) {
	b := conversation(t)
	out, err := dump(b, Options{Body: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := `       0  preface of version 1
       8  HELLO len=61 {1 /versions/: [1, 1], 2 /agent/: "test", 12 /auth/: {1: "token", 2: /11 bytes, hidden/}, 13 /kinds/: {"pos.update": 1, "fence.search": 2}}
      77  POST pos.update len=15 {"a": 1, "b": 40.8}
     100  POSTS pos.update ACK len=8 posts=3 "hi" "" h'000102'
     116  REQ d1/1 fence.search META len=15 meta={1 /deadline/: 250} h'611b5b33316d'
     139  BIND kind=3 len=19 ["fence.events", "cbor"]
     166  OPEN d2/1 fence.events CONFIRM len=8 credit=0 ""
     182  DATA d2/1 fence.events END len=2 h'8101'
     192  CANCEL d1/1 fence.search len=0
     200  RESET d2/1 fence.events STOP len=14 4097 "\u009b31m enough"
     222  POST kind=9 len=7 "unbound"
     237  GOAWAY accepted=2 len=15 drain "bye"
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	asJSON, err := dump(b, Options{Body: 100, JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(asJSON, "secret") || strings.Contains(asJSON, "\u009b") {
		t.Errorf("a secret or a control character\n%s", asJSON)
	}
	compare(t, "testdata/conversation.json", asJSON)
	for line := range strings.Lines(asJSON) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	var slow bytes.Buffer
	if err := Capture(&slow, iotest.OneByteReader(bytes.NewReader(b)), Options{Body: 100}); err != nil || slow.String() != out {
		t.Errorf("byte by byte: %v\n%s", err, &slow)
	}
}

// The frame after a long frame is at the right place.
func TestLongFrame(t *testing.T) {
	b := frame.AppendFrame(nil, &frame.Frame{Type: frame.POST, ID: 1, Body: make([]byte, 3<<20)})
	b = frame.AppendFrame(b, &frame.Frame{Type: frame.PING, Body: []byte("12345678")})
	out, err := dump(b, Options{})
	want := "       0  POST kind=1 len=3145728 (not taken apart: over 1048576 bytes)\n 3145736  PING len=8 \"12345678\"\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if out, err = dump(b[:1<<20], Options{}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(out, "2097160 bytes of a payload are missing") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBodyLimit(t *testing.T) {
	text := []byte("Grüße, and so on")
	for _, tc := range []struct {
		body  []byte
		limit int
		want  string
	}{
		{text, 100, `"Grüße, and so on"`},
		{text, 3, `"Gr"...(18)`}, // the third byte is half a character
		{text, 0, `...(18)`},
		{nil, 0, `""`},
		{[]byte("\x82\x01\x02"), 3, `[1, 2]`},
		{[]byte("\x82\x01\x02"), 2, `h'8201'...(3)`},
		{[]byte("\x82\x01"), 2, `h'8201'`}, // cut by its sender
		{[]byte("\x80"), 2, `h'80'`},
	} {
		b := showBody(tc.body, "", tc.limit)
		if got := string(b.append(nil)); got != tc.want {
			t.Errorf("%q up to %d: %s, want %s", tc.body, tc.limit, got, tc.want)
		}
	}
	batch := frame.AppendFrame(nil, &frame.Frame{Type: frame.POSTS, ID: 1, Body: []byte("\x02aa\x02bb\x02cc")})
	if out, _ := dump(batch, Options{Body: 3}); !strings.HasSuffix(out, `posts=3 "aa" "b"...(2) and 1 more`+"\n") {
		t.Error(out)
	}
}

func TestNotWire(t *testing.T) {
	if out, err := dump([]byte("\x89WIRE\n\x01 as text"), Options{}); !errors.Is(err, wire.ErrNotWire) || !strings.HasPrefix(out, "       0  ! offset 0: wire: peer does not") {
		t.Errorf("%v\n%s", err, out)
	}
	d := reader{names: new(names), live: true, emit: func(*Line) {}}
	if d.feed([]byte("GET / HTTP/1.1\r\n")); !errors.Is(d.err, wire.ErrNotWire) {
		t.Errorf("a live HTTP client: %v", d.err)
	}
	d = reader{names: new(names), live: true, emit: func(*Line) {}}
	d.feed([]byte("QUIT\n"))
	if d.end(); !errors.Is(d.err, wire.ErrNotWire) {
		t.Errorf("one that says little: %v", d.err)
	}
}

func TestHex(t *testing.T) {
	b, err := io.ReadAll(iotest.OneByteReader(Hex(strings.NewReader("# a b c\n00 01fF # half\n\tA\nb\n"))))
	if err != nil || !bytes.Equal(b, []byte{0, 1, 0xff, 0xab}) {
		t.Errorf("%x, %v", b, err)
	}
	for text, want := range map[string]string{
		"00\n0":    "line 2: half a byte at the end: unexpected EOF",
		"00\n0g":   "line 2: 'g' is no hexadecimal digit",
		"00 \x80 ": `line 1: '\u0080' is no hexadecimal digit`,
	} {
		if _, err := io.ReadAll(Hex(strings.NewReader(text))); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Body: -1}, {MaxFrame: 1 << 24}} {
		if o.Check() == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

// A failing output is reported, and so is a failing input.
func TestCaptureFails(t *testing.T) {
	b := conversation(t)
	r, w := io.Pipe()
	_ = r.Close()
	if err := Capture(w, bytes.NewReader(b), Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("output: %v", err)
	}
	if err := Capture(io.Discard, iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(b))), Options{}); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("input: %v", err)
	}
}
