package h1

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

var forms = map[string]Form{
	"request": LinkRequest, "answer": LinkAnswer, "trailers": LinkTrailers, "target": TargetAnswer, "end": TargetTrailers,
}

// headCase is a line of testdata/heads.txt.
type headCase struct {
	name    string
	form    Form
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
		var h Head
		err := h.Parse(c.text, c.form)
		switch {
		case err == nil && c.refused != "":
			t.Errorf("%s: taken, want refused for %q", c.name, c.refused)
		case err != nil && c.refused == "":
			t.Errorf("%s: %v", c.name, err)
		case err != nil && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.refused)):
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
	}{{maxFields, 0, true}, {maxFields + 1, 0, false}, {2, MaxHead, true}, {2, MaxHead + 1, false}} {
		var h Head
		if err := h.Parse(build(c.fields, c.size), LinkRequest); (err == nil) != c.ok {
			t.Errorf("%d fields, %d bytes: %v", c.fields, c.size, err)
		}
	}
}

func TestParsingAHeadDoesNotAllocate(t *testing.T) {
	text := []byte("GET /a/b?c=d HTTP/1.1\r\nHost: example.com\r\nUser-Agent: x\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n")
	var h Head
	if n := testing.AllocsPerRun(100, func() {
		if err := h.Parse(text, LinkRequest); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzRequestHead compares with net/http: net/http reads every accepted head as the same single
// request, with no bytes left over.
func FuzzRequestHead(f *testing.F) {
	for _, c := range headCases(f) {
		if c.form == LinkRequest {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Head
		if h.Parse(b, LinkRequest) != nil {
			return
		}
		in := bufio.NewReader(bytes.NewReader(b))
		r, err := http.ReadRequest(in)
		if err != nil {
			if strings.Contains(err.Error(), "invalid URL") || strings.HasPrefix(err.Error(), "parse ") {
				return // the meaning of the path is left to the target
			}
			t.Fatalf("%q: taken, but net/http says %v", b, err)
		}
		n := 0
		for _, values := range r.Header {
			n += len(values)
		}
		for i := range h.Fields {
			if k := h.Fields[i].Known; k == HostField || k == TransferEncodingField || k == TrailerField {
				n++
			}
		}
		length := r.ContentLength
		if h.Length < 0 && !h.Chunked {
			length--
		}
		switch {
		case r.Method != string(h.Method), r.RequestURI != string(h.Target), r.Host != string(h.Host):
			t.Fatalf("%q: %s %s at %s", b, r.Method, r.RequestURI, r.Host)
		case n != len(h.Fields) && len(r.Trailer) == 0:
			t.Fatalf("%q: %d fields, want %d", b, len(h.Fields), n)
		case length != h.Length || (len(r.TransferEncoding) > 0) != h.Chunked:
			t.Fatalf("%q: length %d, want %d", b, h.Length, length)
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Fatalf("%q: %d bytes are left", b, len(rest))
		}
	})
}

// FuzzAnswerHead does the same for answers.
func FuzzAnswerHead(f *testing.F) {
	for _, c := range headCases(f) {
		if c.form == LinkAnswer {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again Head
		if h.Parse(b, LinkAnswer) != nil {
			return
		}
		if err := again.Parse(b, TargetAnswer); err != nil {
			t.Fatalf("%q: taken from a client, but of a target: %v", b, err)
		}
		in := bufio.NewReader(bytes.NewReader(b))
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%q: taken, but net/http says %v", b, err)
		}
		if r.StatusCode != h.Status || len(r.TransferEncoding) > 0 != h.Chunked && !h.Bodiless(false) {
			t.Fatalf("%q: status %d, chunked %v", b, h.Status, h.Chunked)
		}
	})
}
