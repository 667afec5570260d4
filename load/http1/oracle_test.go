package http1_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"paddock/load"
	"paddock/load/http1"
)

// FuzzAnswers: for any stream, the answers are the same however it is cut, and whether its head was
// learned or not. net/http accepts each stream that is accepted, with the same body, apart from the
// differences that explained lists.
func FuzzAnswers(f *testing.F) {
	for _, tc := range streams {
		if len(tc.stream) < 1000 {
			f.Add([]byte(tc.stream), uint8(tc.form), uint8(tc.asked))
		}
	}
	f.Add([]byte(nginx), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, bits, asked uint8) {
		asked %= 4
		code := form(http1.Form(bits) & (http1.NoBody | http1.Version10 | http1.Close))
		got, how := feed(session(code), int(asked), string(stream), whole)
		if len(stream) <= 300 {
			for at := 1; at < len(stream); at++ {
				same(t, code, asked, stream, fmt.Sprint("cut at ", at), cutAt(at), got, how)
			}
		}
		step := 1 + len(stream)/2000 // byte by byte, if it is not long
		same(t, code, asked, stream, "in small parts", func(left int) int { return min(left, step) }, got, how)

		thread := code.Thread(0, 1) // which learns the head of the first, then of the last
		for range 3 {
			if again, howAgain := feed(thread.Session(), int(asked), string(stream), whole); fmt.Sprint(again, howAgain) != fmt.Sprint(got, how) {
				t.Fatalf("%q: learned %v, %s; new %v, %s", stream, again, howAgain, got, how)
			}
		}
		if asked > 0 {
			compare(t, stream, http1.Form(bits)&http1.NoBody != 0, got, how)
		}
	})
}

func same(t *testing.T, c *http1.Codec, asked uint8, stream []byte, name string, cut func(int) int, want []load.Answer, wantHow string) {
	t.Helper()
	if got, how := feed(session(c), int(asked), string(stream), cut); fmt.Sprint(got, how) != fmt.Sprint(want, wantHow) {
		t.Fatalf("%q %s: %v, %s; whole: %v, %s", stream, name, got, how, want, wantHow)
	}
}

// compare reads the first answer of a stream with net/http.
func compare(t *testing.T, stream []byte, head bool, got []load.Answer, how string) {
	t.Helper()
	status, body, err := oracle(stream, head)
	switch {
	case len(got) == 0 && how == "end": // nothing, or 1xx alone
		return
	case len(got) == 0 && err == nil:
		if reason := stricter(stream); reason == "" {
			t.Fatalf("%q: %s, but net/http has %d and %d bytes", stream, how, status, body)
		}
	case len(got) > 0 && err != nil:
		if reason := laxer(stream, err); reason == "" {
			t.Fatalf("%q: %v, but net/http has %v", stream, got, err)
		}
	case len(got) > 0 && (int(got[0].Status) != status || got[0].Body != body):
		t.Fatalf("%q: %v, but net/http has %d and %d bytes", stream, got, status, body)
	}
}

// oracle is the first answer of a stream as net/http reads it.
func oracle(stream []byte, head bool) (status int, body int64, err error) {
	request := &http.Request{Method: "GET"}
	if head {
		request.Method = "HEAD"
	}
	in := bufio.NewReaderSize(bytes.NewReader(stream), maxHead+1)
	for {
		r, err := http.ReadResponse(in, request)
		if err != nil {
			return 0, 0, err
		}
		if r.StatusCode < 100 || r.StatusCode >= 200 || r.StatusCode == 101 {
			if r.StatusCode == 101 {
				return 101, 0, nil
			}
			n, err := io.Copy(io.Discard, r.Body)
			return r.StatusCode, n, err
		}
	}
}

const maxHead = 64 << 10

// stricter names why a stream is refused that net/http takes; "" = it should not be.
func stricter(stream []byte) string {
	if len(stream) > 4096 {
		return "a head of more than 64 KiB, or the line of a chunk's size of more than 4096 bytes"
	}
	for reason, form := range map[string]string{
		"a version beyond HTTP/1.x":          `(?m)^HTTP/[^1]`,
		"a status line with other blanks":    `(?m)^HTTP/1\.\d(  |\t| \d\d\d[^\d \r\n])`,
		"a status below 100, or with a sign": `(?m)^HTTP/1\.\d +[-+0]`,
		"a control character":                `[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r[^\n]`,
		"a name that is no token":            `(?m)^[^:\r\n]* [^:\r\n]*:|^:|\n:`,
		"a folded line that frames":          `\n[ \t]`,
		"codings but chunked, or in 1.0":     `(?i)transfer-encoding`,
		"a number with blanks":               `(?i)content-length[^\n]*[\x0b\x0c\x85\xa0]`,
		"lengths that are the same, padded":  `(?i)(?s)content-length.*content-length`,
	} {
		if regexp.MustCompile(form).Match(stream) {
			return reason
		}
	}
	return ""
}

// laxer names why a stream is taken that net/http refuses; "" = it should not be.
func laxer(stream []byte, err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "too many transfer encodings") || strings.Contains(text, "unsupported transfer encoding"):
		return "a coding is not undone: chunked alone counts"
	case strings.Contains(text, "chunked encoding contains too much non-data"):
		return "there is no bound but that of a line"
	case strings.Contains(text, "http chunk length too large"):
		return "zeros before a size"
	case strings.Contains(text, "invalid byte in chunk length") && regexp.MustCompile(`[0-9a-fA-F][ \t]+[;\r]`).Match(stream):
		return "blanks behind a size, RFC 9112 section 7.1.1"
	case strings.Contains(text, "reading trailer") && regexp.MustCompile(`[^\r]\n`).Match(stream):
		return "trailers may end in LF alone, as heads may"
	case strings.Contains(text, "suspiciously long trailer"):
		return "trailers may have 64 KiB"
	case errors.Is(err, io.ErrUnexpectedEOF) && bytes.Contains(bytes.ToLower(stream), []byte("content-length")) && bytes.Contains(bytes.ToLower(stream), []byte("transfer-encoding")):
		return "a coding without chunked goes before a length"
	}
	return ""
}
