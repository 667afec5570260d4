package website

import "bytes"

// encodings are the precompressed forms that may exist beside a file: a client that accepts br gets
// page.html.br for page.html.
var encodings = [...]struct{ coding, extension string }{
	{"br", ".br"},
	{"zstd", ".zst"},
	{"gzip", ".gz"},
}

const identity = "identity"

// accepted is a parsed Accept-Encoding: weights in thousandths, by coding.
type accepted struct {
	named [len(encodings)]int // as encodings; -1 if not named
	plain int                 // identity; -1 if not named
	rest  int                 // of all others; -1 if there is no *
}

// readAccepted parses the value of Accept-Encoding: RFC 9110 section 12.5.3. Malformed elements are
// ignored. If a coding occurs twice, the last weight counts.
func readAccepted(value []byte) (a accepted) {
	a.plain, a.rest = -1, -1
	for i := range a.named {
		a.named[i] = -1
	}
	for len(value) > 0 {
		var element []byte
		element, value, _ = bytes.Cut(value, []byte(","))
		coding, weight, weighted := bytes.Cut(element, []byte(";"))
		coding = bytes.Trim(coding, " \t")
		q := 1000
		if weighted {
			if q = quality(bytes.Trim(weight, " \t")); q < 0 {
				continue
			}
		}
		a.set(coding, q)
	}
	return a
}

func (a *accepted) set(coding []byte, q int) {
	switch {
	case string(coding) == "*":
		a.rest = q
	case bytes.EqualFold(coding, []byte(identity)):
		a.plain = q
	case bytes.EqualFold(coding, []byte("x-gzip")): // RFC 9110 section 8.4.1.3
		coding = []byte("gzip")
		fallthrough
	default:
		for i := range encodings {
			if bytes.EqualFold(coding, []byte(encodings[i].coding)) {
				a.named[i] = q
			}
		}
	}
}

// quality parses q=0.5 as 500. It returns -1 for a malformed weight.
func quality(b []byte) int {
	if len(b) < 3 || len(b) > 7 || b[0]|0x20 != 'q' || b[1] != '=' || b[2] != '0' && b[2] != '1' {
		return -1
	}
	q := int(b[2]-'0') * 1000
	if len(b) > 3 && b[3] != '.' {
		return -1
	}
	for i, scale := 4, 100; i < len(b); i, scale = i+1, scale/10 {
		if b[i] < '0' || b[i] > '9' {
			return -1
		}
		q += int(b[i]-'0') * scale
	}
	if q > 1000 {
		return -1
	}
	return q
}

// weight returns the weight of an encoding for the client, 0 if the client refuses it.
func (a *accepted) weight(i int) int { return max(0, orElse(a.named[i], a.rest)) }

// identityWeight returns the weight of the file without an encoding. By default a client accepts
// the file, but prefers each encoding that it accepts.
func (a *accepted) identityWeight() int { return orElse(a.plain, a.rest) }

func orElse(q, otherwise int) int {
	if q >= 0 {
		return q
	}
	return otherwise
}
