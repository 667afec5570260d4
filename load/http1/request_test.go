package http1_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"paddock/load"
	"paddock/load/http1"
)

// Requests, to the byte.
func TestRequest(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request http1.Request
		want    string
		form    http1.Form
	}{
		{
			"GET",
			http1.Request{URL: "http://a:81/b%20c?d=e#f", UserAgent: "paddock/1"},
			"GET /b%20c?d=e HTTP/1.1\r\nHost: a:81\r\nUser-Agent: paddock/1\r\nAccept: */*\r\n\r\n", 0,
		},
		{"no path", http1.Request{URL: "https://a"}, "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", 0},
		{
			"order kept, usual ones replaced",
			http1.Request{URL: "http://a", UserAgent: "p", Header: []http1.Field{{Name: "Z", Value: "1"}, {Name: "host", Value: "b"}, {Name: "A", Value: ""}, {Name: "Accept", Value: ""}}},
			"GET / HTTP/1.1\r\nUser-Agent: p\r\nZ: 1\r\nhost: b\r\nA: \r\n\r\n", 0,
		},
		{"a body", http1.Request{URL: "http://a", Body: []byte("hi")}, "POST / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nContent-Length: 2\r\n\r\nhi", 0},
		{"an empty body", http1.Request{Method: "PUT", URL: "http://a", Body: []byte{}}, "PUT / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n", 0},
		{"HEAD", http1.Request{Method: "HEAD", URL: "http://a"}, "HEAD / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", http1.NoBody},
		{"a user", http1.Request{URL: "http://me:pw@a"}, "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nAuthorization: Basic bWU6cHc=\r\n\r\n", 0},
		{"close", http1.Request{URL: "http://a", Header: []http1.Field{{Name: "Connection", Value: "x, Close"}}}, "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nConnection: x, Close\r\n\r\n", http1.Close},
		{"1.0", http1.Request{URL: "http://a", Version10: true}, "GET / HTTP/1.0\r\nHost: a\r\nAccept: */*\r\n\r\n", http1.Version10 | http1.Close},
		{
			"as ab does",
			http1.Request{URL: "http://a", Version10: true, Bare: true, Header: []http1.Field{{Name: "Connection", Value: "Keep-Alive"}, {Name: "Host", Value: "a"}, {Name: "User-Agent", Value: "ApacheBench/2.3"}, {Name: "Accept", Value: "*/*"}}},
			"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: a\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n", http1.Version10,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, head, form, err := tc.request.Append(nil)
			if err != nil || string(got) != tc.want || form != tc.form || head != strings.Index(tc.want, "\r\n\r\n")+4 {
				t.Errorf("%q, head %d, form %b, %v", got, head, form, err)
			}
		})
	}
}

func TestRequestRefused(t *testing.T) {
	for name, r := range map[string]http1.Request{
		"no URL":            {},
		"no host":           {URL: "http:///a"},
		"another scheme":    {URL: "ftp://a"},
		"a bad URL":         {URL: "http://a/%zz"},
		"a line in the URL": {URL: "http://a/\r\nX: y"},
		"a bad method":      {URL: "http://a", Method: "GET /"},
		"CONNECT":           {URL: "http://a", Method: "CONNECT"},
		"a bad name":        {URL: "http://a", Header: []http1.Field{{Name: "a b", Value: "c"}}},
		"no name":           {URL: "http://a", Header: []http1.Field{{Name: "", Value: "c"}}},
		"a line in a value": {URL: "http://a", Header: []http1.Field{{Name: "a", Value: "b\r\nc: d"}}},
		"a bad agent":       {URL: "http://a", UserAgent: "a\nb"},
		"a wrong length":    {URL: "http://a", Header: []http1.Field{{Name: "Content-Length", Value: "1"}}},
		"chunked":           {URL: "http://a", Header: []http1.Field{{Name: "Transfer-Encoding", Value: "chunked"}}},
	} {
		if got, _, _, err := r.Append([]byte("before")); err == nil || string(got) != "before" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestParseField(t *testing.T) {
	for text, want := range map[string]http1.Field{"A: b": {Name: "A", Value: "b"}, "A:b:c ": {Name: "A", Value: "b:c"}, "A:": {Name: "A", Value: ""}} {
		if got, err := http1.ParseField(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "A", ":b", "A b: c", "A: b\nc"} {
		if _, err := http1.ParseField(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestWithScheme(t *testing.T) {
	for url, want := range map[string]string{
		"localhost:80":   "http://localhost:80",
		"127.0.0.1/a":    "http://127.0.0.1/a",
		"[::1]:80":       "http://[::1]:80",
		"a/?u=http://b":  "http://a/?u=http://b",
		"https://a":      "https://a",
		"HTTP://a":       "HTTP://a",
		"ftp://a":        "ftp://a",
		"a/{{rand 1 9}}": "http://a/{{rand 1 9}}",
		"":               "http://",
	} {
		if got := http1.WithScheme(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for url, want := range map[string]string{
		"http://a": "a:80 false", "https://a": "a:443 true", "http://a:81/b": "a:81 false", "http://[::1]": "[::1]:80 false",
	} {
		address, secure, err := http1.Endpoint(url)
		if got := fmt.Sprint(address, " ", secure); got != want || err != nil {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
	if _, _, err := http1.Endpoint("a:80"); err == nil {
		t.Error("no error")
	}
}

// Request number k has body k mod n, and net/http reads it as such. The last one of a connection
// has Connection: close.
func TestBodies(t *testing.T) {
	var arena http1.Arena
	if err := arena.AddBodies(http1.Request{URL: "http://a/b"}, [][]byte{[]byte("zero"), nil, []byte("two")}); err != nil {
		t.Fatal(err)
	}
	codec := &http1.Codec{Requests: &arena}
	for part := range 2 {
		s := codec.Thread(part, 2).Session()
		for k := int64(part); k < 12; k += 2 {
			r := load.Request{Number: k, LastHere: k > 8}
			if err := s.Request(&r); err != nil {
				t.Fatal(err)
			}
			got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.Bytes)))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			if want := []string{"zero", "", "two"}[k%3]; string(body) != want || err != nil || got.ContentLength != int64(len(want)) || got.Close != r.LastHere || got.Method != "POST" {
				t.Errorf("%d: %q, %+v, %v", k, body, got, err)
			}
		}
	}
	if _, err := new(http1.Arena).Make(0); err == nil {
		t.Error("an empty arena has a request")
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

func TestReadBodies(t *testing.T) {
	for _, tc := range []struct {
		name, file     string
		want           []string
		blank, returns int
	}{
		{"lines", "a\nbc\n", []string{"a", "bc"}, 0, 0},
		{"no newline at the end", "a\nbc", []string{"a", "bc"}, 0, 0},
		{"blank lines", "\na\n\n\r\nb\n\n", []string{"a", "b"}, 4, 0},
		{"carriage returns", "a\r\nb\r", []string{"a\r", "b\r"}, 0, 2},
		{"gzip", zipped("a\nb\n"), []string{"a", "b"}, 0, 0},
		{"longer than a buffer", strings.Repeat("x", 100_000) + "\ny", []string{strings.Repeat("x", 100_000), "y"}, 0, 0},
	} {
		b, err := http1.ReadBodies(strings.NewReader(tc.file))
		if err != nil || fmt.Sprintf("%s", b.List) != fmt.Sprint(tc.want) || b.Blank != tc.blank || b.Returns != tc.returns {
			t.Errorf("%s: %v, %v", tc.name, b, err)
		}
	}
	for name, tc := range map[string]struct {
		file io.Reader
		want string
	}{
		"empty":      {strings.NewReader(""), "every line is blank"},
		"blank":      {strings.NewReader("\n\r\n"), "every line is blank"},
		"too long":   {io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless('x'), 100<<20)), "line 2: a body of more than 16 MiB"},
		"torn gzip":  {strings.NewReader(zipped("a\nb\n")[:20]), ": unexpected EOF"},
		"no gzip":    {strings.NewReader("\x1f\x8bxyz"), "unexpected EOF"},
		"a bad disk": {io.MultiReader(strings.NewReader("a\n"), failing{}), "line 2: " + errDisk.Error()},
	} {
		if _, err := http1.ReadBodies(tc.file); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is a file of one character.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

var errDisk = fmt.Errorf("the disk is on fire")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errDisk }

// FuzzBodies holds for any file: the bodies are its lines but for the blank ones, in order.
func FuzzBodies(f *testing.F) {
	for _, file := range []string{"a\nbc\n", "a\r\nb\r", "\n\n", zipped("a\nb\n")} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		b, err := http1.ReadBodies(bytes.NewReader(file))
		if err != nil || bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
			return
		}
		var want []string
		returns := 0
		for line := range strings.SplitSeq(string(file), "\n") {
			if line != "" && line != "\r" {
				want = append(want, line)
				returns += strings.Count(line[len(line)-1:], "\r")
			}
		}
		if fmt.Sprintf("%q", b.List) != fmt.Sprintf("%q", want) || b.Returns != returns {
			t.Errorf("%q, %d; want %q, %d", b.List, b.Returns, want, returns)
		}
	})
}

// Requests go round, however many have been sent.
func TestArenaGoesRound(t *testing.T) {
	var a http1.Arena
	if err := a.AddBodies(http1.Request{URL: "http://localhost/"}, [][]byte{[]byte("0"), []byte("1"), []byte("2")}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []int64{0, 1, 5, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<62 + 1} {
		m, err := a.Make(k)
		if want := byte('0' + k%3); err != nil || m.Bytes[len(m.Bytes)-1] != want {
			t.Errorf("request %d is %q, want the body %c: %v", k, m.Bytes, want, err)
		}
	}
}
