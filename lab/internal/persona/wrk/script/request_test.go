package script

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"

	"paddock/load/http1"
)

// FuzzSplit holds for any text: its requests are all of it, and net/http reads the same
// ones, unless it is stricter.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nPOST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"GET / HTTP/1.1\r\nConnection: x, close\r\n\r\n", "GET / HTTP/1.1\r\ncontent-length: 0\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := split(text)
		if err != nil {
			return
		}
		var whole []byte
		for _, m := range list {
			whole = append(whole, m.Bytes...)
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.Bytes)))
			if err != nil {
				continue
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Equal(body, m.Bytes[m.Head:]) {
				t.Errorf("%q: the body is %q, %v", m.Bytes, body, err)
			}
			if (r.Method == "HEAD") != (m.Form&http1.NoBody != 0) || r.ProtoAtLeast(1, 1) == (m.Form&http1.Version10 != 0) {
				t.Errorf("%q: %v", m.Bytes, m.Form)
			}
		}
		if !bytes.Equal(whole, text) {
			t.Errorf("%q became %q", text, whole)
		}
	})
}
