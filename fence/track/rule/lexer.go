package rule

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ConditionError is an error in the text of a condition.
type ConditionError struct {
	Column int // in characters, from 1
	Err    error
}

func (e *ConditionError) Error() string { return fmt.Sprintf("column %d: %v", e.Column, e.Err) }

func (e *ConditionError) Unwrap() error { return e.Err }

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	endOfText tokenKind = iota
	word                // a name or a keyword
	sign                // an operator or a bracket
	numberToken
	textToken
)

// token is a word, sign or literal of a condition.
type token struct {
	kind   tokenKind
	text   string // as it is written; of a textToken, its value
	number float64
	at     int // offset in bytes
}

func (t token) String() string {
	switch t.kind {
	case endOfText:
		return "the end"
	case textToken:
		return strconv.Quote(t.text)
	}
	return t.text
}

// is reports whether the token is this word or sign.
func (t token) is(text string) bool {
	return (t.kind == word || t.kind == sign) && t.text == text
}

// lexer cuts the text of a condition into tokens.
type lexer struct {
	text string
	at   int
}

func (l *lexer) fault(at int, format string, args ...any) error {
	return &ConditionError{1 + utf8.RuneCountInString(l.text[:at]), fmt.Errorf(format, args...)}
}

// signs lists the operators and brackets; one that begins another comes after it.
var signs = []string{"==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", "."}

func (l *lexer) next() (token, error) {
	l.at += len(l.text[l.at:]) - len(strings.TrimLeft(l.text[l.at:], " \t\r\n"))
	rest := l.text[l.at:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		return token{at: l.at}, nil
	case isWordStart(r):
		return l.word(), nil
	case r == '-' || '0' <= r && r <= '9':
		return l.number()
	case r == '"' || r == '\'':
		return l.quoted(byte(r))
	}
	return l.sign(rest, r)
}

func (l *lexer) sign(rest string, r rune) (token, error) {
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			l.at += len(s)
			return token{kind: sign, text: s, at: l.at - len(s)}, nil
		}
	}
	switch r {
	case '=':
		return token{}, l.fault(l.at, "= is no operator; did you mean ==?")
	case '&', '|':
		return token{}, l.fault(l.at, "%c is no operator; did you mean %c%c?", r, r, r)
	case '+', '*', '/', '%':
		return token{}, l.fault(l.at, "%c: there is no arithmetic in conditions", r)
	}
	return token{}, l.fault(l.at, "%q is not understood here", r)
}

func isWordStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isWordPart(r rune) bool { return isWordStart(r) || unicode.IsDigit(r) }

// run returns the characters from l.at on that fit, and goes behind them.
func (l *lexer) run(fit func(rune) bool) string {
	rest := l.text[l.at:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !fit(r) })
	if n < 0 {
		n = len(rest)
	}
	l.at += n
	return rest[:n]
}

func (l *lexer) word() token {
	at := l.at
	return token{kind: word, text: l.run(isWordPart), at: at}
}

func (l *lexer) number() (token, error) {
	at := l.at
	written := l.run(func(r rune) bool { return strings.ContainsRune("+-.", r) || isWordPart(r) })
	var f float64
	if json.Unmarshal([]byte(written), &f) != nil {
		return token{}, l.fault(at, "%s is no number: a number is written as 13, 13.9, -5 or 1e3", written)
	}
	return token{kind: numberToken, text: written, number: f + 0, at: at}, nil
}

// quoted reads a text in quotes. Both kinds of quotes have the escapes of JSON, and \'.
func (l *lexer) quoted(quote byte) (token, error) {
	at := l.at
	for i := at + 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case quote:
			l.at = i + 1
			return l.decode(at)
		}
	}
	return token{}, l.fault(at, "the text has no end: %c is missing", quote)
}

// decode decodes the text in quotes between at and l.at, by turning it into one of JSON.
func (l *lexer) decode(at int) (token, error) {
	inner := l.text[at+1 : l.at-1]
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(inner); i++ {
		switch {
		case inner[i] == '"':
			b.WriteString(`\"`)
		case inner[i] == '\\' && inner[i+1] == '\'':
			i++
			b.WriteByte('\'')
		case inner[i] == '\\':
			b.WriteString(inner[i : i+2])
			i++
		default:
			b.WriteByte(inner[i])
		}
	}
	b.WriteByte('"')
	var s string
	if err := json.Unmarshal([]byte(b.String()), &s); err != nil {
		return token{}, l.fault(at, "the text has an escape or a control character that JSON does not know")
	}
	return token{kind: textToken, text: s, at: at}, nil
}
