package h1

import "bytes"

// Framing is the way to find the end of a body, RFC 9112 section 6.
type Framing uint8

// The kinds of framing.
const (
	NoBody   Framing = iota
	ByLength         // Content-Length
	ByChunks         // Transfer-Encoding: chunked
	ByClose          // the end of the connection
)

// maxChunkLine bounds the line before a chunk, in bytes, including extensions and the line end.
const maxChunkLine = 256

// NextChunk reads the bytes between two chunks at the front of b, RFC 9112 section 7.1: the end of
// the previous chunk, if behind reports that there was one, and the line with the size of the next.
// size is in bytes; 0 is the last chunk, which trailers follow. n is the number of bytes read, or 0
// if they are incomplete.
//
// The line is read as strictly as it is written: a reader with other rules would find another end.
// lenient allows white space before an extension, as some targets send it. The error wraps
// [ErrMalformed].
func NextChunk(b []byte, behind, lenient bool) (size int64, n int, err error) {
	if behind {
		switch {
		case len(b) > 0 && b[0] != '\r', len(b) > 1 && b[1] != '\n':
			return 0, 0, Malformed("no CRLF behind a chunk")
		case len(b) < 2:
			return 0, 0, nil
		}
		n = 2
	}
	line := b[n:min(len(b), n+maxChunkLine)]
	end := bytes.IndexByte(line, '\n')
	switch {
	case end < 0 && len(line) == maxChunkLine:
		return 0, 0, Malformed("a long line between chunks")
	case end < 0:
		return 0, 0, nil
	case end == 0 || line[end-1] != '\r':
		return 0, 0, Malformed("LF without CR between chunks")
	}
	size, ok := chunkSize(line[:end-1], lenient)
	if !ok {
		return 0, 0, Malformed("chunk %.20q", line[:end-1])
	}
	return size, n + end + 1, nil
}

// chunkSize reads a hexadecimal number of at most 15 digits; an extension may follow.
func chunkSize(line []byte, lenient bool) (n int64, ok bool) {
	digits := 0
	for ; digits < len(line); digits++ {
		c := line[digits]
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int64(c|0x20-'a'+10)
		default:
			return n, digits > 0 && (lenient || c == ';') && extension(line[digits:])
		}
		if digits >= 15 {
			return 0, false
		}
	}
	return n, digits > 0
}

func extension(b []byte) bool {
	text := trim(b)
	return len(text) > 0 && text[0] == ';' && IsAll(text, ValueByte)
}
