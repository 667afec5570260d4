package ingest

// deeper reports whether a JSON text has more than so many levels of objects and arrays.
// The text need not be well formed.
func deeper(text []byte, most int) bool {
	level := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfText(text, i)
		case '{', '[':
			if level++; level > most {
				return true
			}
		case '}', ']':
			level--
		}
	}
	return false
}

// endOfText returns the index of the quote that ends the text which begins at from, or the
// length of all where none does.
func endOfText(json []byte, from int) int {
	for i := from + 1; i < len(json); i++ {
		switch json[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(json)
}
