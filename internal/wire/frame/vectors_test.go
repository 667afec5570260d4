package frame_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// receiverMaxFrame is what the vectors assume.
const receiverMaxFrame = 65536

// vector is a case of testdata/vectors.
type vector struct {
	name  string
	bytes []byte
	want  string // "text ...", "error ..." or "incomplete"
	lossy bool
}

func readVectors(t testing.TB, file string) (vectors []vector) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "vectors", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word == "name" {
			if names[rest] {
				t.Fatalf("%s: %s twice", file, rest)
			}
			names[rest] = true
			vectors = append(vectors, vector{name: rest})
		}
		if len(vectors) == 0 {
			continue
		}
		v := &vectors[len(vectors)-1]
		switch word {
		case "hex":
			b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
			if err != nil {
				t.Fatalf("%s: %s: %v", file, v.name, err)
			}
			v.bytes = append(v.bytes, b...)
		case "text", "error", "incomplete":
			v.want = lines.Text()
		case "lossy":
			v.lossy = true
		}
	}
	if len(vectors) < 50 {
		t.Fatalf("%s: %d vectors", file, len(vectors))
	}
	return vectors
}

// failure is an error in the notation of the vectors.
func failure(t testing.TB, err error) string {
	t.Helper()
	var broken *frame.ProtocolError
	if !errors.As(err, &broken) {
		t.Fatalf("not a ProtocolError: %v", err)
	}
	return "error " + broken.Code.String() + " " + string(broken.Reason)
}

func TestFrameVectors(t *testing.T) {
	for _, v := range readVectors(t, "frames.txt") {
		t.Run(v.name, func(t *testing.T) {
			var f frame.Frame
			n, err := frame.Next(v.bytes, receiverMaxFrame, &f)
			switch {
			case err != nil:
				if got := failure(t, err); got != v.want {
					t.Errorf("got  %s\nwant %s", got, v.want)
				}
			case n == 0:
				if v.want != "incomplete" {
					t.Errorf("incomplete; want %s", v.want)
				}
			default:
				if got := "text " + f.String(); n != len(v.bytes) || got != v.want {
					t.Errorf("got  %s of %d bytes\nwant %s of %d", got, n, v.want, len(v.bytes))
				}
				if again := frame.AppendFrame(nil, &f); !bytes.Equal(again, v.bytes) {
					t.Errorf("encoded again\n%x\nwant\n%x", again, v.bytes)
				}
			}
		})
	}
}

// TestFrameVectorsInPieces holds that a prefix of a frame is never judged
// otherwise than the whole, only not yet.
func TestFrameVectorsInPieces(t *testing.T) {
	for _, v := range readVectors(t, "frames.txt") {
		var whole, part frame.Frame
		_, wantErr := frame.Next(v.bytes, receiverMaxFrame, &whole)
		for end := range len(v.bytes) {
			n, err := frame.Next(v.bytes[:end], receiverMaxFrame, &part)
			if n != 0 || err != nil && (wantErr == nil || err.Error() != wantErr.Error()) {
				t.Errorf("%s: %d of its %d bytes: n=%d, %v; the whole: %v", v.name, end, len(v.bytes), n, err, wantErr)
			}
		}
	}
}

func TestHelloVectors(t *testing.T) {
	for _, v := range readVectors(t, "hello.txt") {
		t.Run(v.name, func(t *testing.T) {
			h, err := frame.ParseHello(v.bytes)
			if err != nil {
				if got := failure(t, err); got != v.want {
					t.Errorf("got  %s\nwant %s", got, v.want)
				}
				return
			}
			if got := "text " + h.String(); got != v.want {
				t.Errorf("got  %s\nwant %s", got, v.want)
			}
			again, err := frame.AppendHello(nil, *h)
			if err != nil || bytes.Equal(again, v.bytes) == v.lossy {
				t.Errorf("encoded again (lossy: %v, %v)\n%x\nwant\n%x", v.lossy, err, again, v.bytes)
			}
		})
	}
}

func TestHelloThatThePeerWouldRefuse(t *testing.T) {
	kinds := map[string]uint32{}
	for i := range uint32(300) {
		kinds[strings.Repeat("k", 20)+string('a'+rune(i%26))+strings.Repeat("z", int(i/26))] = i + 1
	}
	for name, h := range map[string]protocol.Hello{
		"small frames":    {MaxFrame: 16383},
		"versions":        {MinVersion: 2, MaxVersion: 1},
		"a kind's name":   {Kinds: map[string]uint32{"Upper": 1}},
		"a kind's number": {Kinds: map[string]uint32{"a": 1025}},
		"too many kinds":  {Kinds: kinds},
		"a long agent":    {Agent: strings.Repeat("x", 129)},
	} {
		if b, err := frame.AppendHello([]byte("kept"), h); !errors.Is(err, frame.ErrHello) || string(b) != "kept" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

func TestPreface(t *testing.T) {
	for n := range len(frame.Preface) {
		if got, err := frame.CheckPreface([]byte(frame.Preface[:n])); got != 0 || err != nil {
			t.Errorf("%d bytes: %d, %v", n, got, err)
		}
	}
	if n, err := frame.CheckPreface([]byte(frame.Preface + "more")); n != 8 || err != nil {
		t.Errorf("whole: %d, %v", n, err)
	}
	for got, want := range map[string]string{
		"GET / HTTP/1.1":          `wire: peer does not speak wire (first bytes "GET / HT")`,
		"\x16\x03\x01":            `wire: peer does not speak wire (TLS client on a plain listener)`,
		"\x89WIRE\r\n\x02":        `wire: peer does not speak wire (first bytes "\x89WIRE\r\n\x02")`,
		"\x89WIRE\n\x01":          `wire: peer does not speak wire (first bytes "\x89WIRE\n\x01")`,
		"\x09WIRE\r\n\x01 7 bits": `wire: peer does not speak wire (first bytes "\tWIRE\r\n\x01")`,
	} {
		if _, err := frame.CheckPreface([]byte(got)); !errors.Is(err, frame.ErrNotWire) || err.Error() != want {
			t.Errorf("%q: %v", got, err)
		}
	}
}

func TestSlot(t *testing.T) {
	for want, s := range map[string]frame.Slot{
		"d1/1":         0x00001001,
		"a1/1":         0x80001001,
		"a524287/4095": 0xFFFFFFFF,
	} {
		again := frame.MakeSlot(s.Side(), s.Index(), s.Generation())
		if s.String() != want || again != s || !s.Valid() {
			t.Errorf("%s: %v, again %v", want, s, again)
		}
	}
	if frame.Slot(0x80000FFF).Valid() {
		t.Error("index 0 is valid")
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, v := range readVectors(t, "frames.txt") {
		if !strings.HasPrefix(v.want, "text ") {
			continue
		}
		var f frame.Frame
		buf := make([]byte, 0, 1024)
		got := testing.AllocsPerRun(20, func() {
			if _, err := frame.Next(v.bytes, receiverMaxFrame, &f); err != nil {
				t.Error(err)
			}
			buf = frame.AppendFrame(buf[:0], &f)
			if f.Type == frame.POSTS {
				for rest := f.Body; len(rest) > 0; {
					_, rest = frame.CutPost(rest)
				}
			}
		})
		if got != 0 {
			t.Errorf("%s: %v allocations", v.name, got)
		}
	}
}
