package http1_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"paddock/load"
	"paddock/load/http1"
)

func lines(name string) ([]byte, error) {
	switch name {
	case "names":
		return []byte("a b\n\nc&d\n"), nil
	case "blank":
		return []byte("\n\n"), nil
	case "control":
		return []byte("a\x01\n"), nil
	}
	return nil, errors.New("no file " + name)
}

// sent returns the bytes of request number k.
func sent(t *testing.T, requests http1.Requests, part, of int, k int64) string {
	t.Helper()
	m, err := requests.Thread(part, of).Make(k)
	if err != nil {
		t.Fatal(err)
	}
	if head := bytes.Index(m.Bytes, []byte("\r\n\r\n")) + 4; m.Head != head {
		t.Errorf("the head has %d bytes, not %d: %q", head, m.Head, m.Bytes)
	}
	return string(m.Bytes)
}

func compiled(t *testing.T, list ...http1.Request) http1.Requests {
	t.Helper()
	requests, err := http1.Compile(list, lines, 1)
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

// Placeholders in a URL, a header and a body, and the length of the body that it comes to.
func TestTemplate(t *testing.T) {
	requests := compiled(t,
		http1.Request{URL: "http://h/{{seq}}?n={{line names}}", Header: []http1.Field{{Name: "X", Value: "{{line names}}!"}}, Body: []byte("<{{seq}}>{{line names}}<{{\"{{\"}}>")},
		http1.Request{URL: "http://h/plain", Method: "HEAD"},
		http1.Request{URL: "http://h/static", Body: []byte("mark0x000 {{\"{{\"}}seq}}"), Header: []http1.Field{{Name: "X", Value: "{{ seq }}"}}},
	)
	for k, want := range map[int64]string{
		0:  "POST /0?n=a%20b HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nX: a b!\r\nContent-Length: 10\r\n\r\n<0>a b<{{>",
		1:  "HEAD /plain HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n",
		2:  "POST /static HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nX: 2\r\nContent-Length: 17\r\n\r\nmark0x000 {{seq}}",
		99: "POST /99?n=c%26d HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nX: c&d!\r\nContent-Length: 11\r\n\r\n<99>c&d<{{>",
	} {
		if got := sent(t, requests, 0, 1, k); got != want {
			t.Errorf("%d: %q", k, got)
		}
	}
}

// Random values are in their bounds, depend on the number and the seed alone, and differ.
func TestRandom(t *testing.T) {
	r := http1.Request{URL: "http://h/{{rand -3 3}}/{{rand -9223372036854775808 9223372036854775807}}/{{uuid}}/{{uuid}}"}
	requests, again := compiled(t, r), compiled(t, r)
	form := regexp.MustCompile(`^GET /-?[0-3]/-?[0-9]+/([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})/([0-9a-f-]{36}) `)
	seen, firsts := map[string]bool{}, map[string]bool{}
	for k := range int64(1000) {
		got := sent(t, requests, 0, 1, k)
		if got != sent(t, again, 3, 7, k) {
			t.Fatal("not a function of the number alone")
		}
		m := form.FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("%q", got)
		}
		seen[m[1]], seen[m[2]] = true, true
		firsts[strings.Split(got, "/")[1]] = true
	}
	if len(seen) != 2000 || len(firsts) != 7 {
		t.Errorf("%d UUIDs of 2000, %d numbers of 7", len(seen), len(firsts))
	}
	other, err := http1.Compile([]http1.Request{r}, lines, 2)
	if err != nil || sent(t, other, 0, 1, 0) == sent(t, requests, 0, 1, 0) {
		t.Error("another seed gives the same", err)
	}
}

// Requests without placeholders are made before the run.
func TestCompilePlain(t *testing.T) {
	requests := compiled(t, http1.Request{URL: "http://h/a"}, http1.Request{URL: "http://h/b"})
	if _, ok := requests.(*http1.Arena); !ok {
		t.Errorf("%T", requests)
	}
	if got := sent(t, requests, 0, 1, 3); !strings.HasPrefix(got, "GET /b ") {
		t.Error(got)
	}
}

func TestTemplateRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		r    http1.Request
		want string
	}{
		"no end":       {http1.Request{URL: "http://h/{{seq"}, "request 1: the URL: byte 9: {{ without }}"},
		"unknown":      {http1.Request{URL: "http://h", Body: []byte("ab{{now}}")}, "the body: byte 2: {{now}} is none of {{seq}}, "},
		"rand":         {http1.Request{URL: "http://h/{{rand 2 1}}"}, "{{rand 2 1}} is no {{rand FROM TO}}"},
		"rand, words":  {http1.Request{URL: "http://h/{{rand a b}}"}, "is no {{rand FROM TO}}"},
		"no file":      {http1.Request{URL: "http://h/{{line x}}"}, "no file x"},
		"a blank file": {http1.Request{URL: "http://h/{{line blank}}"}, "blank: http1: bodies: there is none"},
		"a bad line":   {http1.Request{URL: "http://h", Header: []http1.Field{{Name: "A", Value: "{{line control}}"}}}, "the header A: byte 0: control: the line \"a\\x01\" has a control character"},
		"the host":     {http1.Request{URL: "http://h{{seq}}/"}, "a placeholder in the host"},
		"the user":     {http1.Request{URL: "http://{{seq}}@h/"}, "where none may be"},
		"a length":     {http1.Request{URL: "http://h/", Body: []byte("{{seq}}"), Header: []http1.Field{{Name: "Content-Length", Value: "9"}}}, "its length is not known"},
		"many":         {http1.Request{URL: "http://h/", Body: bytes.Repeat([]byte("{{seq}}"), 1001)}, "more than 1000 placeholders"},
	} {
		if _, err := http1.Compile([]http1.Request{tc.r}, lines, 0); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := http1.Compile(nil, lines, 0); err == nil {
		t.Error("no request: no error")
	}
}

// Whatever is compiled is a request with the length that its body has.
func FuzzTemplate(f *testing.F) {
	f.Add("/{{seq}}?{{line names}}", "{{uuid}}", "{{rand 1 9}}", int64(7))
	f.Add("/", "{{\"{{\"}}", "{{\"\\n\"}}", int64(-1))
	f.Add("/mar{{seq}}", "{{\"mark0x\"}}", "{{\"m\"}}ark1x{{seq}}", int64(1))
	f.Add("/{{line names}}", "mark0x", "mark0x000{{seq}}", int64(1))
	f.Fuzz(func(t *testing.T, path, value, body string, k int64) {
		requests, err := http1.Compile([]http1.Request{{URL: "http://h" + path, Header: []http1.Field{{Name: "X", Value: value}}, Body: []byte(body)}}, lines, 1)
		if err != nil {
			return
		}
		m, err := requests.Thread(0, 1).Make(k)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.Bytes)))
		if err != nil {
			t.Fatalf("%q: %v", m.Bytes, err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != string(m.Bytes[m.Head:]) {
			t.Fatalf("%q: the body is %q, %v", m.Bytes, got, err)
		}
		if !strings.Contains(body, "{{") && string(got) != body {
			t.Fatalf("%q, not %q", got, body)
		}
	})
}

func BenchmarkMake(b *testing.B) {
	body := []byte(`{"id":"v{{rand 1 1000}}","n":{{seq}}}`)
	for name, r := range map[string]http1.Request{
		"plain":    {URL: "http://localhost:8080/v1/positions", UserAgent: "paddock", Body: []byte(`{"id":"v1","n":1}`)},
		"template": {URL: "http://localhost:8080/v1/positions", UserAgent: "paddock", Body: body},
	} {
		b.Run(name, func(b *testing.B) {
			requests, err := http1.Compile([]http1.Request{r}, lines, 1)
			if err != nil {
				b.Fatal(err)
			}
			s := (&http1.Codec{Requests: requests}).Thread(0, 1).Session()
			b.ReportAllocs()
			var request load.Request
			for b.Loop() {
				request.Number++
				if err := s.Request(&request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
