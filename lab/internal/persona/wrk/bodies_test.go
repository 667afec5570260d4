package wrk

import (
	"fmt"
	"strings"
	"testing"

	"paddock/load/http1"
)

// Each thread sends one request without a body before each round of all, and the first
// thread begins behind it.
func TestCycle(t *testing.T) {
	o := &Options{Compat: true}
	requests, err := o.Cycle(http1.Request{URL: "http://host/x", Bare: true}, [][]byte{[]byte("one"), []byte("two")})
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range []string{"one two - one two - one", "- one two - one two -"} {
		source := requests.Thread(part, 2)
		var got []string
		for k := range int64(7) {
			m, err := source.Make(2*k + int64(part))
			if err != nil {
				t.Fatal(err)
			}
			text, body := string(m.Bytes), string(m.Bytes[m.Head:])
			if body == "" {
				body = "-"
			}
			if strings.Contains(text, "Content-Length") == (body == "-") || !strings.HasPrefix(text, "POST /x ") {
				t.Errorf("%q", text)
			}
			got = append(got, body)
		}
		if !strings.HasPrefix(fmt.Sprint(got), "["+want) {
			t.Errorf("thread %d: %v", part, got)
		}
	}
}
