package responder

import "bytes"

// Malformed returns answers that no client may take for good ones. The connection ends
// behind each of them.
func Malformed() []Wrong {
	var all []Wrong
	for _, w := range []struct{ name, text string }{
		{"nothing", ""},
		{"not HTTP", "+OK hello\r\n\r\n"},
		{"no version", "HTTP/one 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"no status", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"},
		{"a head that ends early", "HTTP/1.1 200 OK\r\nContent-Le"},
		{"a body that ends early", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"},
		{"a length below 0", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
		{"a length that overflows", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"},
		{"a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n0123456789"},
		{"two lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12"},
		{"a chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\n"},
		{"chunks that end early", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123"},
	} {
		all = append(all, Wrong{w.name, bytes.Clone([]byte(w.text))})
	}
	return all
}
