package h1

// Framing is how it is known where a body ends, RFC 9112 section 6.
type Framing uint8

// The ways.
const (
	NoBody   Framing = iota
	ByLength         // Content-Length
	ByChunks         // Transfer-Encoding: chunked
	ByClose          // with the connection
)

// MaxChunkLine bounds the line before a chunk, in bytes, extensions included.
const MaxChunkLine = 256

// ChunkSize reads the line before a chunk, without its end, RFC 9112 section 7.1: a
// hexadecimal number of bytes, at most 15 digits, which an extension may follow.
func ChunkSize(line []byte) (n int64, ok bool) {
	digits := 0
	for ; digits < len(line); digits++ {
		c := line[digits]
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int64(c|0x20-'a'+10)
		default:
			return n, digits > 0 && digits < 16 && extension(line[digits:])
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
