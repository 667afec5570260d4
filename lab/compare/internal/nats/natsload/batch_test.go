package natsload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// A rendered batch has whole operations of one length, subject after subject.
func TestRender(t *testing.T) {
	for _, tc := range []struct {
		subject        string
		subjects, size int
		first, second  string
	}{
		{"a", 1, 0, "PUB a 0\r\n\r\n", "PUB a 0\r\n\r\n"},
		{"foo", 1, 2, "PUB foo 2\r\nxx\r\n", "PUB foo 2\r\nxx\r\n"},
		{"s.", 1000, 1, "PUB s.000 1\r\nx\r\n", "PUB s.001 1\r\nx\r\n"},
		{"foo", 1, 200_000, "PUB foo 200000\r\n" + strings.Repeat("x", 200_000) + "\r\n", ""},
	} {
		b := render(tc.subject, tc.subjects, tc.size)
		if !strings.HasPrefix(string(b.data), tc.first+tc.second) || b.stride != len(tc.first) || len(b.data) != b.total*b.stride {
			t.Errorf("%s: %d messages, each of %d bytes: %.60q", tc.subject, b.total, b.stride, b.data)
		}
		seen := 0
		for seen < b.total {
			messages, n := b.next(1 << 30)
			if len(messages) != n*b.stride || n > 1 && len(messages) > blockSize {
				t.Errorf("%s: %d messages in %d bytes", tc.subject, n, len(messages))
			}
			seen += n
		}
		if messages, n := b.next(1); seen != b.total || n != 1 || !bytes.Equal(messages, b.data[:b.stride]) {
			t.Errorf("%s: %d of %d messages, and then %.40q", tc.subject, seen, b.total, messages)
		}
	}
}

func TestSubjectsComeInTurn(t *testing.T) {
	b := render("s.", 5000, 0)
	for i := range 2 * b.total {
		messages, _ := b.next(1)
		if want := fmt.Sprintf("PUB s.%04d 0\r\n\r\n", i%b.total%5000); string(messages) != want {
			t.Fatalf("message %d: got %q, want %q", i, messages, want)
		}
	}
}
