package http1_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock/load"
	"paddock/load/http1"
)

// one is a source of one request that has the form of a test.
type one struct{ message http1.Message }

func (o one) Thread(int, int) http1.Source         { return o }
func (o one) Make(int64) (http1.Message, error)    { return o.message, nil }
func form(f http1.Form) *http1.Codec               { return &http1.Codec{Requests: one{http1.Message{Form: f}}} }
func session(c *http1.Codec) load.Session          { return c.Thread(0, 1).Session() }
func answer(status uint16, body int64) load.Answer { return load.Answer{Status: status, Body: body} }

func last(a load.Answer) load.Answer {
	a.Last = true
	return a
}

func failed(a load.Answer) load.Answer {
	a.Class = load.ClassStatus
	return a
}

// feed makes requests and hands a stream to a session in parts. Bytes that the session does not
// consume are passed again with more behind them, as an engine does. feed returns the answers and
// the end of the stream, in words.
func feed(s load.Session, asked int, stream string, part func(left int) int) (got []load.Answer, how string) {
	for range asked {
		if err := s.Request(&load.Request{}); err != nil {
			return nil, err.Error()
		}
	}
	var answers load.Answers
	defer func() { got = answers.List }()
	rest := []byte(nil)
	for len(stream) > 0 {
		n := part(len(stream))
		rest, stream = append(rest, stream[:n]...), stream[n:]
		used, err := s.Receive(rest, &answers)
		if err != nil {
			return nil, class(err)
		}
		if k := len(answers.List); k > 0 && answers.List[k-1].Last {
			return nil, "last"
		}
		rest = append([]byte(nil), rest[used:]...)
	}
	if err := s.End(&answers); err != nil {
		return nil, class(err)
	}
	return nil, "end"
}

func class(err error) string {
	if f, ok := errors.AsType[*load.Failed](err); ok {
		return f.Class.String()
	}
	return load.ClassParse.String()
}

func whole(left int) int { return left }

func chunked(body string) string {
	return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
}

func sized(length, body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n" + body
}

// streams lists streams of services with the expected result. A stream without an ending ends
// between answers.
var streams = []struct {
	name   string
	form   http1.Form
	asked  int
	stream string
	want   []load.Answer
	how    string
}{
	{"a length", 0, 1, sized("5", "hello"), []load.Answer{answer(200, 5)}, "end"},
	{"no body", 0, 1, sized("0", ""), []load.Answer{answer(200, 0)}, "end"},
	{"two answers", 0, 2, sized("5", "hello") + sized("3", "you"), []load.Answer{answer(200, 5), answer(200, 3)}, "end"},
	{"a length twice", 0, 1, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", []load.Answer{answer(200, 2)}, "end"},
	{"blanks around a length", 0, 1, sized(" \t2 \t", "hi"), []load.Answer{answer(200, 2)}, "end"},
	{"LF alone", 0, 1, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", []load.Answer{answer(200, 2)}, "end"},
	{"no reason", 0, 1, "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", []load.Answer{answer(200, 2)}, "end"},
	{"a status of failure", 0, 2, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nhi" + sized("0", ""), []load.Answer{failed(answer(404, 2)), answer(200, 0)}, "end"},
	{"a header folded", 0, 1, "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", []load.Answer{answer(200, 0)}, "end"},

	{"chunked", 0, 1, chunked("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"), []load.Answer{answer(200, 6)}, "end"},
	{"chunked, nothing in it", 0, 1, chunked("0\r\n\r\n"), []load.Answer{answer(200, 0)}, "end"},
	{"chunked with extensions", 0, 1, chunked("5;a=b;c=\"d\"\r\nhello\r\n0 ;z\r\n\r\n"), []load.Answer{answer(200, 5)}, "end"},
	{"chunked with trailers", 0, 2, chunked("5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n") + sized("0", ""), []load.Answer{answer(200, 5), answer(200, 0)}, "end"},
	{"chunked and a length", 0, 1, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", []load.Answer{answer(200, 5)}, "end"},
	{"chunked in capitals", 0, 1, "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: gzip, CHUNKED\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", []load.Answer{answer(200, 10)}, "end"},

	{"to the end", 0, 1, "HTTP/1.1 200 OK\r\n\r\nhello", []load.Answer{last(answer(200, 5))}, "end"},
	{"to the end, nothing", 0, 1, "HTTP/1.0 200 OK\r\n\r\n", []load.Answer{last(answer(200, 0))}, "end"},
	{"to the end, coded", 0, 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", []load.Answer{last(answer(200, 5))}, "end"},

	{"1xx before", 0, 1, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + sized("2", "hi"), []load.Answer{answer(200, 2)}, "end"},
	{"101", 0, 1, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x00\x01", []load.Answer{last(answer(101, 0))}, "last"},
	{"204 with a length", 0, 2, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n" + sized("0", ""), []load.Answer{answer(204, 0), answer(200, 0)}, "end"},
	{"304 with a length", 0, 2, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" + sized("0", ""), []load.Answer{answer(304, 0), answer(200, 0)}, "end"},
	{"HEAD", http1.NoBody, 2, sized("5", "") + sized("6", ""), []load.Answer{answer(200, 0), answer(200, 0)}, "end"},
	{"HEAD, chunked", http1.NoBody, 1, chunked(""), []load.Answer{answer(200, 0)}, "end"},

	{"Connection: close", 0, 2, "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nhi" + sized("0", ""), []load.Answer{last(answer(200, 2))}, "last"},
	{"close was asked for", http1.Close, 1, sized("2", "hi"), []load.Answer{last(answer(200, 2))}, "last"},
	{"1.0", 0, 1, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", []load.Answer{last(answer(200, 2))}, "last"},
	{"1.0, kept alive", 0, 2, strings.Repeat("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", 2), []load.Answer{answer(200, 2), answer(200, 2)}, "end"},
	{"1.0 asked, kept alive", http1.Version10, 1, "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", []load.Answer{answer(200, 2)}, "end"},
	{"1.0 asked, nothing said", http1.Version10, 1, sized("2", "hi"), []load.Answer{last(answer(200, 2))}, "last"},

	{"ends before", 0, 1, "", nil, "end"},
	{"ends within a head", 0, 1, "HTTP/1.1 200 OK\r\nContent-", nil, "eof-mid"},
	{"ends within a body", 0, 1, sized("5", "hell"), nil, "eof-mid"},
	{"ends within a chunk", 0, 1, chunked("5\r\nhell"), nil, "eof-mid"},
	{"ends before the last chunk", 0, 1, chunked("5\r\nhello\r\n"), nil, "eof-mid"},
	{"ends within trailers", 0, 1, chunked("0\r\nA: b\r\n"), nil, "eof-mid"},
	{"ends behind 1xx", 0, 1, "HTTP/1.1 100 Continue\r\n\r\n", nil, "end"},

	{"nobody asked", 0, 0, "HTTP/1.1 200 OK\r\n\r\n", nil, "protocol"},
	{"one answer too many", 0, 1, sized("0", "") + sized("0", ""), []load.Answer{answer(200, 0)}, "protocol"},
	{"one byte too many", 0, 1, sized("2", "hi!"), []load.Answer{answer(200, 2)}, "protocol"},

	{"garbage", 0, 1, "SSH-2.0-OpenSSH_9.2\r\n", nil, "parse"},
	{"garbage without a line", 0, 1, "\x16\x03\x01", nil, "parse"},
	{"an empty line before", 0, 1, "\r\n" + sized("0", ""), nil, "parse"},
	{"HTTP/2", 0, 1, "HTTP/2.0 200 OK\r\n\r\n", nil, "parse"},
	{"a status of two digits", 0, 1, "HTTP/1.1 20\r\n\r\n", nil, "parse"},
	{"a status of four digits", 0, 1, "HTTP/1.1 2000 OK\r\n\r\n", nil, "parse"},
	{"a status below 100", 0, 1, "HTTP/1.1 099 OK\r\n\r\n", nil, "parse"},
	{"lengths that differ", 0, 1, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", nil, "parse"},
	{"a list of lengths", 0, 1, sized("2, 2", "hi"), nil, "parse"},
	{"a length below 0", 0, 1, sized("-1", ""), nil, "parse"},
	{"a length with a sign", 0, 1, sized("+1", "a"), nil, "parse"},
	{"a length that overflows", 0, 1, sized("9223372036854775808", ""), nil, "parse"},
	{"an empty length", 0, 1, sized("", ""), nil, "parse"},
	{"a blank before the colon", 0, 1, "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", nil, "parse"},
	{"a line without a colon", 0, 1, "HTTP/1.1 200 OK\r\nhello\r\n\r\n", nil, "parse"},
	{"a line without a name", 0, 1, "HTTP/1.1 200 OK\r\n: x\r\n\r\n", nil, "parse"},
	{"a NUL", 0, 1, "HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", nil, "parse"},
	{"a CR within a line", 0, 1, "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", nil, "parse"},
	{"a length folded", 0, 1, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", nil, "parse"},
	{"the first line folded", 0, 1, "HTTP/1.1 200 OK\r\n X: y\r\n\r\n", nil, "parse"},
	{"chunked twice", 0, 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", nil, "parse"},
	{"chunked in 1.0", 0, 1, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", nil, "parse"},
	{"a chunk without a size", 0, 1, chunked("\r\n"), nil, "parse"},
	{"a chunk of letters", 0, 1, chunked("xyz\r\n"), nil, "parse"},
	{"a chunk below 0", 0, 1, chunked("-1\r\n"), nil, "parse"},
	{"a chunk that overflows", 0, 1, chunked("8000000000000000\r\n"), nil, "parse"},
	{"a chunk longer than it says", 0, 1, chunked("2\r\nhello\r\n"), nil, "parse"},
	{"a chunk's size ended by LF", 0, 1, chunked("2\nhi\r\n0\r\n\r\n"), nil, "parse"},
	{"a trailer without a colon", 0, 1, chunked("0\r\nhello\r\n\r\n"), nil, "parse"},
	{"an endless extension", 0, 1, chunked("2;" + strings.Repeat("x", 5000)), nil, "parse"},
	{"an endless head", 0, 1, "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 12_000), nil, "parse"},
	{"an endless line", 0, 1, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 66_000), nil, "parse"},
	{"endless trailers", 0, 1, chunked("0\r\n" + strings.Repeat("X: y\r\n", 12_000)), nil, "parse"},
}

// Every stream gives the same answers, however it is cut.
func TestStreams(t *testing.T) {
	for _, tc := range streams {
		t.Run(tc.name, func(t *testing.T) {
			cuts := map[string]func(int) int{"whole": whole}
			if len(tc.stream) < 1000 {
				cuts["byte by byte"] = func(int) int { return 1 }
				for at := 1; at < len(tc.stream); at++ {
					cuts[fmt.Sprint("cut at ", at)] = cutAt(at)
				}
			} else {
				cuts["by 1000"] = func(left int) int { return min(left, 1000) }
			}
			for name, cut := range cuts {
				got, how := feed(session(form(tc.form)), tc.asked, tc.stream, cut)
				if fmt.Sprint(got) != fmt.Sprint(tc.want) || how != tc.how {
					t.Fatalf("%s: %v, %s; want %v, %s", name, got, how, tc.want, tc.how)
				}
			}
		})
	}
}

// cutAt gives so many bytes, and then all the others.
func cutAt(at int) func(int) int {
	return func(left int) int {
		n := at
		at = left
		return min(n, left)
	}
}

// A head that was learned is read as it would be without: the same stream over and over
// on one thread gives the same answers.
func TestLearned(t *testing.T) {
	for _, tc := range streams {
		thread := form(tc.form).Thread(0, 1)
		for _, before := range streams {
			feed(thread.Session(), before.asked, before.stream, whole)
			got, how := feed(thread.Session(), tc.asked, tc.stream, whole)
			if fmt.Sprint(got) != fmt.Sprint(tc.want) || how != tc.how {
				t.Errorf("%s behind %s: %v, %s", tc.name, before.name, got, how)
			}
		}
	}
}

func TestStatuses(t *testing.T) {
	s, err := http1.ParseStatuses("2xx, 304,400-404")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[int]bool{199: false, 200: true, 299: true, 300: false, 304: true, 400: true, 404: true, 405: false} {
		if s[code] != want {
			t.Errorf("%d: %v", code, s[code])
		}
	}
	for _, text := range []string{"", "2x", "0xx", "99", "1000", "404-400", "a", "200-", "-200", "+20"} {
		if _, err := http1.ParseStatuses(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	c := form(0)
	c.Good = s
	got, _ := feed(session(c), 2, "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n"+"HTTP/1.1 301 \r\nContent-Length: 0\r\n\r\n", whole)
	if fmt.Sprint(got) != fmt.Sprint([]load.Answer{answer(404, 0), failed(answer(301, 0))}) {
		t.Error(got)
	}
}

// nginx is a head as nginx writes it, and a body of 3,516 bytes.
var nginx = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 22 Nov 2026 08:00:00 GMT\r\nContent-Type: text/html\r\nContent-Length: 3516\r\n" +
	"Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"691e8b40-dbc\"\r\nAccept-Ranges: bytes\r\n\r\n" + strings.Repeat("x", 3516)

// receiver returns a function that sends a request and reads one answer of nginx, with a learned
// head or not.
func receiver(tb testing.TB, learn bool) func() {
	s := session(form(0))
	in := [][]byte{[]byte(nginx), []byte(strings.Replace(nginx, "691e", "692e", 1))}
	var (
		answers load.Answers
		request load.Request
		k       int
	)
	return func() {
		answers.Reset()
		if err := s.Request(&request); err != nil {
			tb.Fatal(err)
		}
		if !learn {
			k ^= 1
		}
		if n, err := s.Receive(in[k], &answers); n != len(nginx) || err != nil || len(answers.List) != 1 {
			tb.Fatal(n, err, answers)
		}
	}
}

func TestDoesNotAllocate(t *testing.T) {
	for _, learn := range []bool{true, false} {
		f := receiver(t, learn)
		f()
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("learned %v: %v allocations", learn, n)
		}
	}
}

func BenchmarkReceive(b *testing.B) {
	for _, learn := range []bool{true, false} {
		b.Run(map[bool]string{true: "learned", false: "new"}[learn], func(b *testing.B) {
			b.ReportAllocs()
			f := receiver(b, learn)
			for b.Loop() {
				f()
			}
		})
	}
}
