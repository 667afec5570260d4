package wiredump

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"paddock/internal/wire/frame"
)

// FuzzCapture checks for any bytes, in any pieces: each line is one line that is safe for a
// terminal, JSON is valid, and the pieces do not change the output.
func FuzzCapture(f *testing.F) {
	for _, v := range readVectors(f, "frames.txt") {
		f.Add(v.bytes, uint16(3))
	}
	for _, v := range readVectors(f, "hello.txt") {
		f.Add(hello(v.bytes), uint16(1))
	}
	f.Add(conversation(f), uint16(7))
	f.Fuzz(func(t *testing.T, b []byte, piece uint16) {
		show := func(asJSON bool, piece int) string {
			var out []byte
			d := reader{options: Options{Body: 16, JSON: asJSON}, names: new(names), emit: func(l *Line) {
				out = l.Append(out, asJSON)
			}}
			for rest := b; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				d.feed(rest[:min(piece, len(rest))])
			}
			d.end()
			if len(b) > 0 && len(out) == 0 {
				t.Fatal("nothing is said")
			}
			return string(out)
		}
		whole := show(false, len(b)+1)
		if pieces := show(false, int(piece)+1); pieces != whole {
			t.Errorf("in pieces of %d\n%s\nwhole\n%s", piece+1, pieces, whole)
		}
		objects := show(true, len(b)+1)
		for line := range strings.Lines(objects) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
		if strings.Count(objects, "\n") != strings.Count(whole, "\n") {
			t.Errorf("%s\n%s", objects, whole)
		}
		for _, r := range whole + objects {
			if r != '\n' && !unicode.IsPrint(r) || r == utf8.RuneError && !bytes.Contains(b, []byte("\uFFFD")) {
				t.Fatalf("%U in\n%s%s", r, whole, objects)
			}
		}
		if !strings.Contains(whole, "!") {
			sameFrames(t, b, whole)
		}
	})
}

// sameFrames checks that there is one line for each frame.
func sameFrames(t *testing.T, b []byte, text string) {
	frames := 0
	if rest, ok := bytes.CutPrefix(b, []byte(frame.Preface)); ok {
		b, frames = rest, 1
	}
	for len(b) > 0 {
		var f frame.Frame
		n, err := frame.Next(b, frame.MaxPayload, &f)
		if n == 0 || err != nil {
			t.Fatalf("%x: %d, %v", b, n, err)
		}
		b = b[n:]
		frames++
	}
	if lines := strings.Count(text, "\n"); lines != frames {
		t.Errorf("%d lines for %d frames\n%s", lines, frames, text)
	}
}
