package rule

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pattern selects ids. A * stands for any number of characters, a ? for exactly one character of
// UTF-8, and a \ makes the next character plain. All others are plain, brackets and braces too, and
// upper case is not lower case. The zero Pattern selects nothing but the empty id.
type Pattern struct{ text string }

// NewPattern reads a pattern; "" is *.
func NewPattern(text string) (Pattern, error) {
	if text == "" {
		text = "*"
	}
	if err := checkPattern(text); err != nil {
		return Pattern{}, err
	}
	return Pattern{joinStars(text)}, nil
}

func checkPattern(text string) error {
	switch {
	case len(text) > MaxName:
		return fmt.Errorf("%d bytes, the limit is %d", len(text), MaxName)
	case !utf8.ValidString(text):
		return errors.New("not valid UTF-8")
	}
	escapes := len(text) - len(strings.TrimRight(text, `\`))
	if escapes%2 == 1 {
		return fmt.Errorf(`%q ends with a \ that escapes nothing: write \\ for the character`, text)
	}
	return nil
}

// joinStars makes one star of stars in a row, as they mean the same, and drops needless escapes.
func joinStars(text string) string {
	var b strings.Builder
	star := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '*' && star {
			continue
		}
		star = c == '*'
		if c == '\\' && i+1 < len(text) {
			if i++; isSpecial(text[i]) {
				b.WriteByte(c)
			}
			c = text[i]
		}
		b.WriteByte(c)
	}
	return b.String()
}

// isSpecial reports whether a character is not plain in a pattern.
func isSpecial(c byte) bool { return c == '*' || c == '?' || c == '\\' }

// String returns the text of the pattern, in which stars do not follow each other.
func (p Pattern) String() string { return p.text }

// Match reports whether the pattern selects id.
func (p Pattern) Match(id string) bool {
	pattern, star, mark := p.text, "", ""
	starred := false
	for {
		rest, tail, ok := matchOne(pattern, id)
		switch {
		case pattern != "" && pattern[0] == '*':
			pattern = pattern[1:]
			if pattern == "" {
				return true
			}
			starred, star, mark = true, pattern, id
		case pattern == "" && id == "":
			return true
		case ok:
			pattern, id = rest, tail
		case starred && mark != "": // the last star takes one character more
			_, size := utf8.DecodeRuneInString(mark)
			mark = mark[size:]
			pattern, id = star, mark
		default:
			return false
		}
	}
}

// matchOne matches the first character of a pattern, which is no star, and returns the rest of
// both.
func matchOne(pattern, id string) (restPattern, restID string, ok bool) {
	if pattern == "" || id == "" {
		return "", "", false
	}
	switch pattern[0] {
	case '?':
		_, size := utf8.DecodeRuneInString(id)
		return pattern[1:], id[size:], true
	case '\\':
		pattern = pattern[1:]
	}
	return pattern[1:], id[1:], pattern[0] == id[0]
}

// literal returns the plain text at the start of a pattern, and the rest from its first wildcard
// on.
func (p Pattern) literal() (prefix, rest string) {
	var b strings.Builder
	for i := 0; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case c == '*' || c == '?':
			return b.String(), p.text[i:]
		case c == '\\':
			i++
			c = p.text[i]
		}
		b.WriteByte(c)
	}
	return b.String(), ""
}

// suffix returns the plain text after the last wildcard of rest, as literal returns it.
func suffix(rest string) string {
	end := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '*', '?':
			end = i + 1
		case '\\':
			i++
		}
	}
	plain, _ := Pattern{rest[end:]}.literal()
	return plain
}
