package h1

import (
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"strings"
	"testing"
)

func TestNextChunk(t *testing.T) {
	for name, c := range map[string]struct {
		text            string
		behind, lenient bool
		size            int64
		n               int
		refused         string
	}{
		"first":                      {text: "1a\r\nbytes", size: 0x1a, n: 4},
		"behind another":             {text: "\r\nFF\r\n", behind: true, size: 0xff, n: 6},
		"last":                       {text: "0\r\n\r\n", n: 3},
		"last, in many digits":       {text: "000\r\n\r\n", n: 5},
		"longest":                    {text: "fffffffffffffff\r\n", size: 1<<60 - 1, n: 17},
		"too long a number":          {text: "0000000000000001\r\n", refused: "chunk"},
		"extension":                  {text: "1;a=b\r\n", size: 1, n: 7},
		"extension behind space":     {text: "1 ;a\r\n", refused: "chunk"},
		"a target's":                 {text: "1 ;a\r\n", lenient: true, size: 1, n: 6},
		"space alone":                {text: "1 \r\n", lenient: true, refused: "chunk"},
		"no number":                  {text: "\r\n", refused: "chunk"},
		"sign":                       {text: "+1\r\n", refused: "chunk"},
		"0x":                         {text: "0x1\r\n", refused: "chunk"},
		"control in extension":       {text: "1;\x00\r\n", refused: "chunk"},
		"CR in extension":            {text: "1;a\r\r\n", refused: "chunk"},
		"LF alone":                   {text: "1\n", refused: "LF without CR"},
		"nothing but LF":             {text: "\n", refused: "LF without CR"},
		"LF behind a chunk":          {text: "\n1\r\n", behind: true, refused: "no CRLF"},
		"CR behind a chunk":          {text: "\r1\r\n", behind: true, refused: "no CRLF"},
		"more than the chunk":        {text: "x", behind: true, refused: "no CRLF"},
		"longest line":               {text: "1;" + strings.Repeat("x", maxChunkLine-4) + "\r\n", size: 1, n: maxChunkLine},
		"longer line":                {text: "1;" + strings.Repeat("x", maxChunkLine-3) + "\r\n", refused: "long line"},
		"longest line behind":        {text: "\r\n1;" + strings.Repeat("x", maxChunkLine-4) + "\r\n", behind: true, size: 1, n: maxChunkLine + 2},
		"longer line, not yet whole": {text: strings.Repeat("1", maxChunkLine), refused: "long line"},
	} {
		size, n, err := NextChunk([]byte(c.text), c.behind, c.lenient)
		switch {
		case c.refused != "" && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		case c.refused == "" && (err != nil || size != c.size || n != c.n):
			t.Errorf("%s: %d in %d bytes, %v; want %d in %d", name, size, n, err, c.size, c.n)
		}
		for cut := range c.n { // the result does not depend on the pieces
			if _, n, err := NextChunk([]byte(c.text[:cut]), c.behind, c.lenient); n > 0 || err != nil {
				t.Errorf("%s, cut at %d: %d bytes, %v", name, cut, n, err)
			}
		}
	}
}

// unchunked returns the body of chunks and the bytes after the last chunk.
func unchunked(b []byte) (body, rest []byte, err error) {
	for behind := false; ; behind = true {
		size, n, err := NextChunk(b, behind, false)
		switch {
		case err != nil:
			return body, b, err
		case n == 0, size > int64(len(b)-n):
			return body, b, io.ErrUnexpectedEOF
		case size == 0:
			return body, b[n:], nil
		}
		body = append(body, b[n:n+int(size)]...)
		b = b[n+int(size):]
	}
}

// FuzzChunks compares with net/http: net/http accepts every accepted body, and reads the same
// bytes.
func FuzzChunks(f *testing.F) {
	for _, text := range []string{"0\r\n\r\n", "1;a\r\nx\r\n0\r\n\r\n", "3\r\nabc\r\n2\r\nde\r\n00\r\nX: y\r\n\r\n", "1\nx", "5\r\nab"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		body, rest, err := unchunked(b)
		if err != nil {
			return // net/http may accept a refused body
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(b[:len(b)-len(rest)])))
		if err != nil || !bytes.Equal(body, theirs) {
			t.Fatalf("%q: %q, net/http: %q, %v", b, body, theirs, err)
		}
	})
}
