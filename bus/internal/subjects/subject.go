// Package subjects holds the rules of subjects and patterns: which are valid, and which match. Its
// name is a plural as nearly every function that calls it has a parameter subject.
package subjects

import (
	"bytes"
	"strings"
)

// The parts of patterns.
const (
	Separator = '.' // stands between tokens
	AnyToken  = "*" // alone in a token: any one token
	AnyTokens = ">" // alone in the last token: one or more tokens
)

// Match reports whether subject is matched by pattern. Only the tokens of the pattern are
// wildcards.
func Match(pattern string, subject []byte) bool {
	for {
		ptok, prest, pmore := strings.Cut(pattern, ".")
		stok, srest, smore := Cut(subject)
		switch {
		case len(stok) == 0:
			return false
		case ptok == AnyTokens && !pmore:
			return !smore || NoEmptyToken(srest)
		case ptok != AnyToken && ptok != string(stok):
			return false
		case pmore != smore:
			return false
		case !pmore:
			return true
		}
		pattern, subject = prest, srest
	}
}

// Valid reports whether s can be published to. It is clean and has neither an empty token nor a
// wildcard.
func Valid(s string) bool { return Clean(s) && NoEmptyToken(s) && !HasWildcard(s) }

// Clean reports whether s can stand in a protocol line: it is not empty, and has neither white
// space nor control bytes.
func Clean(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}

// WellFormedPattern reports whether s, an argument of SUB, is a pattern. It need not look for the
// separators of the protocol, which cannot occur in an argument.
func WellFormedPattern(s []byte) bool {
	return NoEmptyToken(s) && !bytes.HasPrefix(s, []byte(">.")) && !bytes.Contains(s, []byte(".>."))
}

// WellFormed reports whether s, an argument of PUB, has no empty token and no lone wildcard.
func WellFormed(s []byte) bool { return NoEmptyToken(s) && !HasWildcard(s) }

// NoEmptyToken reports whether every token of s has at least one byte.
func NoEmptyToken[T string | []byte](s T) bool {
	before := byte(Separator)
	for i := range len(s) {
		if s[i] == Separator && before == Separator {
			return false
		}
		before = s[i]
	}
	return before != Separator
}

// HasWildcard reports whether a token of s is a lone wildcard.
func HasWildcard[T string | []byte](s T) bool {
	for i := range len(s) {
		if (s[i] == AnyToken[0] || s[i] == AnyTokens[0]) && (i == 0 || s[i-1] == Separator) && (i+1 == len(s) || s[i+1] == Separator) {
			return true
		}
	}
	return false
}

// Cut splits off the first token. more reports whether a separator followed it.
func Cut(s []byte) (tok, rest []byte, more bool) {
	for i, b := range s {
		if b == Separator {
			return s[:i], s[i+1:], true
		}
	}
	return s, nil, false
}
