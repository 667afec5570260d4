package bus

import "strings"

const (
	tokenSep  = '.' // stands between tokens
	anyToken  = "*" // alone in a token: any one token
	anyTokens = ">" // alone in the last token: one or more tokens
)

// ValidSubject reports whether s can be published to: at least one token, no
// token empty, none a lone * or >, and no white space or control byte. Case and
// bytes above 0x7f are free: subjects are compared as bytes.
func ValidSubject(s string) bool {
	if !cleanText(s) {
		return false
	}
	for tok := range strings.SplitSeq(s, ".") {
		if tok == "" || tok == anyToken || tok == anyTokens {
			return false
		}
	}
	return true
}

// ValidPattern reports whether s can be subscribed to: as [ValidSubject], but
// any token may be *, and the last one may be >. The characters * and > inside
// a longer token are literals.
func ValidPattern(s string) bool {
	return cleanText(s) && wellFormedPattern([]byte(s))
}

// Match reports whether subject is matched by pattern. Tokens * and > of
// pattern are wildcards, those of subject are not. A subject with an empty
// token is matched by nothing.
func Match(pattern, subject string) bool { return matchTokens(pattern, []byte(subject)) }

func matchTokens(pattern string, subject []byte) bool {
	for {
		ptok, prest, pmore := strings.Cut(pattern, ".")
		stok, srest, smore := cutToken(subject)
		switch {
		case len(stok) == 0:
			return false
		case ptok == anyTokens && !pmore:
			return !smore || noEmptyToken(srest)
		case ptok != anyToken && ptok != string(stok):
			return false
		case pmore != smore:
			return false
		case !pmore:
			return true
		}
		pattern, subject = prest, srest
	}
}

// cleanText refuses what would break a protocol line.
func cleanText(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}

// wellFormedPattern is the broker's check of a SUB: the protocol's separators
// cannot occur in an argument, everything else may.
func wellFormedPattern(s []byte) bool {
	for more := true; more; {
		var tok []byte
		tok, s, more = cutToken(s)
		if len(tok) == 0 || (more && string(tok) == anyTokens) {
			return false
		}
	}
	return true
}

// wellFormedSubject is the pedantic check of a PUB: no empty token and no lone
// wildcard.
func wellFormedSubject(s []byte) bool {
	for more := true; more; {
		var tok []byte
		tok, s, more = cutToken(s)
		if len(tok) == 0 || string(tok) == anyToken || string(tok) == anyTokens {
			return false
		}
	}
	return true
}

func noEmptyToken(s []byte) bool {
	for more := true; more; {
		var tok []byte
		if tok, s, more = cutToken(s); len(tok) == 0 {
			return false
		}
	}
	return true
}

// hasWildcard reports whether a well-formed pattern is more than a literal.
func hasWildcard(pattern string) bool {
	for tok := range strings.SplitSeq(pattern, ".") {
		if tok == anyToken || tok == anyTokens {
			return true
		}
	}
	return false
}

// cutToken splits off the first token; more says that a separator followed it.
func cutToken(s []byte) (tok, rest []byte, more bool) {
	for i, b := range s {
		if b == tokenSep {
			return s[:i], s[i+1:], true
		}
	}
	return s, nil, false
}
