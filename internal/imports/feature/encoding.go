package feature

import (
	"strings"
	"unicode/utf8"
)

// Encoding is how a file writes its texts.
type Encoding uint8

// The encodings that are read.
const (
	Guessed Encoding = iota // UTF-8 if a text is valid as such, else Latin1
	UTF8
	Latin1      // ISO 8859-1
	Windows1252 // Latin1 with letters and signs in place of control characters
)

// EncodingOf returns the encoding of a name such as those in .cpg files. ok is false if it is not
// read.
func EncodingOf(name string) (e Encoding, ok bool) {
	switch plain(name) {
	case "":
		return Guessed, true
	case "utf8", "65001", "ascii", "usascii":
		return UTF8, true
	case "iso88591", "88591", "latin1", "28591":
		return Latin1, true
	case "1252", "cp1252", "ansi1252", "windows1252", "win1252", "ldid87":
		return Windows1252, true
	}
	return Guessed, false
}

// Decode returns a text as UTF-8.
func (e Encoding) Decode(text []byte) string {
	if e == UTF8 || e == Guessed && utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for _, c := range text {
		if e == Windows1252 && c >= 0x80 && c < 0xa0 {
			b.WriteRune(windows1252[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

// windows1252 are the characters 0x80 to 0x9f (the WHATWG Encoding standard). Bytes that stand
// for none keep their code.
var windows1252 = [32]rune{
	0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
}
