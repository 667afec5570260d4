package website

import "bytes"

// encodings are the precompressed forms that may stand beside a file: of
// page.html, page.html.br is what a client gets that accepts br.
var encodings = [...]struct{ coding, extension string }{
	{"br", ".br"},
	{"zstd", ".zst"},
	{"gzip", ".gz"},
}

const identity = "identity"

// accepted is what an Accept-Encoding says: thousandths by coding.
type accepted struct {
	named [len(encodings)]int // as encodings; -1 if not named
	plain int                 // identity; -1 if not named
	rest  int                 // of all others; -1 if there is no *
}

// readAccepted reads the value of Accept-Encoding: RFC 9110 section 12.5.3. An
// element that is not of its grammar counts as if it were not there. Of two that
// name the same coding the last one counts.
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

// quality reads q=0.5 and returns 500, or -1 if it is nothing of the kind.
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

// weight is how much the client wants an encoding, 0 if it refuses it.
func (a *accepted) weight(i int) int { return max(0, orElse(a.named[i], a.rest)) }

// identityWeight is the same of the file as it is. Unless the client says
// otherwise, it takes that, but any encoding that it accepts comes first.
func (a *accepted) identityWeight() int { return orElse(a.plain, a.rest) }

func orElse(q, otherwise int) int {
	if q >= 0 {
		return q
	}
	return otherwise
}
