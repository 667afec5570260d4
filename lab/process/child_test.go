package process

import (
	"bytes"
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	var said tail
	for range 10 {
		if _, err := said.Write(bytes.Repeat([]byte("a"), saidBytes/4)); err != nil {
			t.Fatal(err)
		}
	}
	said.Write([]byte("the end"))
	if got := said.String(); len(got) != saidBytes || !strings.HasSuffix(got, "athe end") {
		t.Errorf("%d bytes, which end in %q", len(got), got[max(0, len(got)-10):])
	}
}

// Lines are the same, however the output is split.
func TestLines(t *testing.T) {
	for size := 1; size < 8; size++ {
		var got []string
		var said tail
		w := &lineWriter{each: func(line []byte) { got = append(got, string(line)) }, copied: &said}
		for rest := []byte("one\n\ntwo\nrest"); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = w.Write(rest[:min(size, len(rest))])
		}
		if strings.Join(got, "|") != "one||two" || said.String() != "one\n\ntwo\nrest" {
			t.Errorf("%d bytes at once: %q, %q", size, got, said.String())
		}
	}
}
