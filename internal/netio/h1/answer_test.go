package h1

import (
	"testing"
)

func TestAppendAnswerHead(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		toHead bool
		length int64
		want   string
	}{
		"as it is":              {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\n", false, -1, "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 3\r\n\r\n"},
		"of old":                {"HTTP/1.0 404\nX: y\n\n", false, -1, "HTTP/1.1 404 \r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"of one hop":            {"HTTP/1.1 200 OK\r\nConnection: close, X\r\nX: y\r\nKeep-Alive: 5\r\nContent-Length: 0\r\n\r\n", false, -1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"chunks, all there":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, 5, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		"chunks":                {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, -1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"HEAD":                  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, -1, "HTTP/1.1 200 OK\r\n\r\n"},
		"HEAD of a length":      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, -1, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"},
		"304 of a length":       {"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", false, -1, "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n"},
		"204 with a length":     {"HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n", false, -1, "HTTP/1.1 204 None\r\n\r\n"},
		"interim with a length": {"HTTP/1.1 103 Hints\r\nLink: a\r\nContent-Length: 0\r\n\r\n", false, -1, "HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n"},
		"upgrade":               {"HTTP/1.1 101 Switch\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false, -1, "HTTP/1.1 101 Switch\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"},
	} {
		var h Head
		if err := h.Parse([]byte(c.text), TargetAnswer); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := AppendAnswerHead(nil, &h, c.toHead, c.length)
		if string(got) != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
		if err := h.Parse(got, LinkAnswer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzTargetAnswer checks that any accepted answer of a target is forwarded as one head, which the
// other side accepts with the same meaning.
func FuzzTargetAnswer(f *testing.F) {
	for _, c := range headCases(f) {
		if c.form == TargetAnswer && c.refused == "" {
			f.Add(c.text, false, int64(-1))
			f.Add(c.text, true, int64(3))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, toHead bool, length int64) {
		var h, link Head
		if h.Parse(text, TargetAnswer) != nil || h.Status == 101 && h.Upgrade == nil {
			return
		}
		length = max(length, -1)
		out := AppendAnswerHead(nil, &h, toHead, length)
		if length > 1e17 || len(out) > MaxHead {
			return // such an answer has no body, and its head is refused
		}
		if err := link.Parse(out, LinkAnswer); err != nil {
			t.Fatalf("%q: sent as %q: %v", text, out, err)
		}
		if link.Status != h.Status || string(link.Reason) != string(h.Reason) || link.Bodiless(toHead) != h.Bodiless(toHead) {
			t.Fatalf("%q: sent as %q", text, out)
		}
	})
}
