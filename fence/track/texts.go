package track

import (
	"encoding/binary"
	"strings"
)

// texts holds the ids of objects side by side, in pages. A text begins in the first pageLen bytes
// of its page. It keeps its number until it is dropped or the texts are packed. The strings that at
// returns share the memory of a page and stay valid.
type texts struct {
	pages   []string // what is written of each
	last    *strings.Builder
	used    int // bytes of all pages
	dropped int // bytes of dropped texts
}

const (
	pageBits = 12
	pageLen  = 1 << pageBits
)

// add copies a text and returns its number: its page, and its place there.
func (t *texts) add(text string) uint32 {
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(text)))
	if t.last == nil || t.last.Len() >= pageLen || t.last.Cap()-t.last.Len() < n+len(text) {
		t.last = &strings.Builder{}
		t.last.Grow(max(pageLen, n+len(text)))
		t.pages = append(t.pages, "")
	}
	page, at := len(t.pages)-1, t.last.Len()
	t.last.Write(head[:n])
	t.last.WriteString(text)
	t.pages[page] = t.last.String() // of the same memory: the builder has room
	t.used += n + len(text)
	return uint32(page<<pageBits | at)
}

// at returns the text of a number.
func (t *texts) at(number uint32) string {
	page := t.pages[number>>pageBits]
	at := int(number & (pageLen - 1))
	n := int(page[at])
	if at++; n >= 0x80 {
		long, width := binary.Uvarint([]byte(page[at-1 : min(len(page), at-1+binary.MaxVarintLen64)]))
		n, at = int(long), at-1+width
	}
	return page[at : at+n]
}

// drop tells that a text is not used any more. It reports whether it is time to pack.
func (t *texts) drop(number uint32) bool {
	t.dropped += len(t.at(number)) + 1
	return t.dropped > 4*pageLen && 2*t.dropped > t.used
}
