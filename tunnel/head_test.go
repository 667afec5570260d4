package tunnel

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

var forms = map[string]form{
	"request": requestForm, "answer": answerForm, "trailers": trailersForm, "target": targetForm, "end": endForm,
}

// headCase is a line of testdata/heads.txt.
type headCase struct {
	name    string
	form    form
	text    []byte
	refused string
}

func headCases(t testing.TB) (cases []headCase) {
	file, err := os.ReadFile("testdata/heads.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		last := strings.LastIndex(parts[2], "|")
		text, err := strconv.Unquote(strings.TrimSpace(parts[2][:last]))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, headCase{parts[0], forms[parts[1]], []byte(text), strings.TrimSpace(parts[2][last+1:])})
	}
	return cases
}

func TestHeads(t *testing.T) {
	for _, c := range headCases(t) {
		var h head
		err := h.parse(c.text, c.form)
		switch {
		case err == nil && c.refused != "":
			t.Errorf("%s: taken, want refused for %q", c.name, c.refused)
		case err != nil && c.refused == "":
			t.Errorf("%s: %v", c.name, err)
		case err != nil && (!errors.Is(err, errHead) || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

func TestHeadBounds(t *testing.T) {
	build := func(fields, size int) []byte {
		b := []byte("GET / HTTP/1.1\r\nHost: a\r\n")
		for range fields - 1 {
			b = append(b, "X: y\r\n"...)
		}
		if pad := size - len(b) - len("\r\n"); pad > 0 {
			b = append(b[:len(b)-2], bytes.Repeat([]byte{'y'}, pad)...)
			b = append(b, "\r\n"...)
		}
		return append(b, "\r\n"...)
	}
	for _, c := range []struct {
		fields, size int
		ok           bool
	}{{maxFields, 0, true}, {maxFields + 1, 0, false}, {2, maxHead, true}, {2, maxHead + 1, false}} {
		var h head
		if err := h.parse(build(c.fields, c.size), requestForm); (err == nil) != c.ok {
			t.Errorf("%d fields, %d bytes: %v", c.fields, c.size, err)
		}
	}
}

func TestParsingAHeadDoesNotAllocate(t *testing.T) {
	text := []byte("GET /a/b?c=d HTTP/1.1\r\nHost: example.com\r\nUser-Agent: x\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n")
	var h head
	if n := testing.AllocsPerRun(100, func() {
		if err := h.parse(text, requestForm); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzRequestHead compares with net/http: whatever is taken net/http reads as the same
// one request, with nothing left over.
func FuzzRequestHead(f *testing.F) {
	for _, c := range headCases(f) {
		if c.form == requestForm {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h head
		if h.parse(b, requestForm) != nil {
			return
		}
		in := bufio.NewReader(bytes.NewReader(b))
		r, err := http.ReadRequest(in)
		if err != nil {
			if strings.Contains(err.Error(), "invalid URL") || strings.HasPrefix(err.Error(), "parse ") {
				return // what the target's path means is not for us to judge
			}
			t.Fatalf("%q: taken, but net/http says %v", b, err)
		}
		n := 0
		for _, values := range r.Header {
			n += len(values)
		}
		for i := range h.fields {
			if k := h.fields[i].known; k == fieldHost || k == fieldTransferEncoding || k == fieldTrailer {
				n++
			}
		}
		length := r.ContentLength
		if h.length < 0 && !h.chunked {
			length--
		}
		switch {
		case r.Method != string(h.method), r.RequestURI != string(h.target), r.Host != string(h.host):
			t.Fatalf("%q: %s %s at %s", b, r.Method, r.RequestURI, r.Host)
		case n != len(h.fields) && len(r.Trailer) == 0:
			t.Fatalf("%q: %d fields, want %d", b, len(h.fields), n)
		case length != h.length || (len(r.TransferEncoding) > 0) != h.chunked:
			t.Fatalf("%q: length %d, want %d", b, h.length, length)
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Fatalf("%q: %d bytes are left", b, len(rest))
		}
	})
}

// FuzzAnswerHead does the same for answers.
func FuzzAnswerHead(f *testing.F) {
	for _, c := range headCases(f) {
		if c.form == answerForm {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again head
		if h.parse(b, answerForm) != nil {
			return
		}
		if err := again.parse(b, targetForm); err != nil {
			t.Fatalf("%q: taken from a client, but of a target: %v", b, err)
		}
		in := bufio.NewReader(bytes.NewReader(b))
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%q: taken, but net/http says %v", b, err)
		}
		if r.StatusCode != h.status || len(r.TransferEncoding) > 0 != h.chunked && !h.bodiless(false) {
			t.Fatalf("%q: status %d, chunked %v", b, h.status, h.chunked)
		}
	})
}
