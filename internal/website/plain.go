package website

import "bytes"

// plain is a request that the short way may answer. Its slices are of what was read.
type plain struct {
	head           bool
	target         []byte // path and query
	path           []byte // needs no unescaping
	host           []byte
	acceptEncoding []byte
}

// The bytes that the parts of a plain request consist of. Each set is a subset of
// what net/http takes, and without those that would need a decision: escapes in the
// path, bytes beyond ASCII.
var (
	pathBytes  = setOf("/-._~!$&'()*+,;=:@" + alphanumeric)
	queryBytes = setOf("/-._~!$&'()*+,;=:@?%[]|" + alphanumeric)
	nameBytes  = setOf("!#$%&'*+-.^_`|~" + alphanumeric) // RFC 9110 section 5.6.2: token
	hostBytes  = setOf("-._:[]" + alphanumeric)
	valueBytes = func() (set byteSet) {
		set['\t'] = true
		for b := byte(' '); b <= '~'; b++ {
			set[b] = true
		}
		return set
	}()
)

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

type byteSet [256]bool

func setOf(bytes string) (set byteSet) {
	for _, b := range []byte(bytes) {
		set[b] = true
	}
	return set
}

// span returns how many bytes at the beginning of b are in the set.
func (set *byteSet) span(b []byte) int {
	for i, c := range b {
		if !set[c] {
			return i
		}
	}
	return len(b)
}

// readPlain reads the request that b begins with and returns its length, or 0 if
// it is not a plain one: not complete, or anything but a GET or HEAD of HTTP/1.1,
// of a path without escapes, with one Host, whose other fields have no say in
// where the request ends and in what is answered.
//
// hot: BenchmarkReadPlain, TestShortWayDoesNotAllocate.
func readPlain(b []byte, r *plain) (n int) {
	*r = plain{}
	switch {
	case bytes.HasPrefix(b, []byte("GET /")):
		n = len("GET ")
	case bytes.HasPrefix(b, []byte("HEAD /")):
		n, r.head = len("HEAD "), true
	default:
		return 0
	}
	start := n
	n += pathBytes.span(b[n:])
	r.path = b[start:n]
	if n < len(b) && b[n] == '?' {
		n += queryBytes.span(b[n:])
	}
	r.target = b[start:n]
	const version = " HTTP/1.1\r\n"
	if !bytes.HasPrefix(b[n:], []byte(version)) {
		return 0
	}
	n += len(version)
	for {
		if bytes.HasPrefix(b[n:], []byte("\r\n")) {
			if r.host == nil {
				return 0
			}
			return n + len("\r\n")
		}
		length := r.readField(b[n:])
		if length == 0 {
			return 0
		}
		n += length
	}
}

// readField reads a line of the header and returns its length, or 0 if it makes
// the request one that is not plain.
func (r *plain) readField(b []byte) (n int) {
	colon := nameBytes.span(b)
	if colon == 0 || colon == len(b) || b[colon] != ':' {
		return 0
	}
	n = colon + 1
	n += valueBytes.span(b[n:])
	if !bytes.HasPrefix(b[n:], []byte("\r\n")) || !r.take(b[:colon], bytes.Trim(b[colon+1:n], " \t")) {
		return 0
	}
	return n + len("\r\n")
}

// take notes a field. ok is false if it decides about the connection, about a body,
// or about an answer other than the page.
func (r *plain) take(name, value []byte) (ok bool) {
	is := func(other string) bool { return len(name) == len(other) && bytes.EqualFold(name, []byte(other)) }
	switch name[0] | 0x20 {
	case 'h':
		if is("Host") {
			if r.host != nil || len(value) == 0 || hostBytes.span(value) != len(value) {
				return false
			}
			r.host = value
		}
		return !is("HTTP2-Settings")
	case 'a':
		if is("Accept-Encoding") {
			if r.acceptEncoding != nil {
				return false
			}
			r.acceptEncoding = value
		}
	case 'c':
		if is("Connection") {
			return bytes.EqualFold(value, []byte("keep-alive"))
		}
		return !is("Content-Length") && !is("Content-Encoding")
	case 'i':
		return !bytes.EqualFold(name[:min(3, len(name))], []byte("If-"))
	case 'r':
		return !is("Range")
	case 't':
		return !is("Transfer-Encoding") && !is("Trailer") && !is("TE")
	case 'e':
		return !is("Expect")
	case 'u':
		return !is("Upgrade")
	}
	return true
}
