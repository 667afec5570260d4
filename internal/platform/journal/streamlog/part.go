package streamlog

import (
	"bytes"
	"encoding/binary"

	"paddock/internal/platform/journal"
)

// partVersion is the first byte of a message.
const partVersion = 1

// Kinds of messages.
const (
	kindClaim = 1 // a node is the writer from here on
	kindEntry = 2 // a part of an entry
	kindBase  = 3 // the first message: the entries go on from a snapshot
)

// part is a message of the log: a version, the kind, the term, the number of the entry, the index
// of the part in it, and whether it is the last one, then the data. Numbers are varints.
type part struct {
	kind   byte
	term   uint64
	number uint64 // of the entry; of a claim, of the entry before it
	index  uint64
	last   bool
	data   []byte // of an entry; of a claim, see appendClaim
}

func (p *part) append(b []byte) []byte {
	b = append(b, partVersion, p.kind)
	for _, n := range []uint64{p.term, p.number, p.index} {
		b = binary.AppendUvarint(b, n)
	}
	last := byte(0)
	if p.last {
		last = 1
	}
	return append(append(b, last), p.data...)
}

// parse reads a message. Its data shares memory with b.
func parse(b []byte) (p part, err error) {
	f := journal.Fields{Rest: b}
	if f.Byte() != partVersion {
		return p, ErrForeign
	}
	p = part{kind: f.Byte(), term: f.Uint(), number: f.Uint(), index: f.Uint(), last: f.Byte() == 1}
	p.data = f.Rest
	if f.Failed || p.kind < kindClaim || p.kind > kindBase || p.term == 0 {
		return p, ErrForeign
	}
	return p, nil
}

// same reports whether two messages are the same one.
func (p *part) same(o *part) bool {
	return p.kind == o.kind && p.term == o.term && p.number == o.number && p.index == o.index && bytes.Equal(p.data, o.data)
}

// appendClaim returns the data of a claim.
func appendClaim(node, process string) []byte {
	return append(journal.AppendText(nil, node), process...)
}

// node returns the node that a claim is of; "": it is none.
func (p *part) node() string {
	if p.kind != kindClaim {
		return ""
	}
	f := journal.Fields{Rest: p.data}
	return f.Text()
}
