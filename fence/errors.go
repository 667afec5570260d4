package fence

import (
	"errors"
	"fmt"
)

var (
	// ErrNotGeoJSON is wrapped where a document is JSON but nothing that a set can be read from.
	ErrNotGeoJSON = errors.New("not GeoJSON")
	// ErrCRS is wrapped where a document names a coordinate reference system other than WGS84.
	ErrCRS = errors.New("unsupported coordinate reference system")
	// ErrLimit is wrapped where a document as a whole is larger than the limits allow.
	ErrLimit = errors.New("limit exceeded")
	// ErrNoKey is returned for a Put of a fence without a key.
	ErrNoKey = errors.New("fence has no key")
	// ErrFull is returned when a set has used up its 2^32 refs.
	ErrFull = errors.New("set is full")
	// ErrExists is wrapped where a set's name is taken.
	ErrExists = errors.New("set exists")
	// ErrName is wrapped where a set's name is empty.
	ErrName = errors.New("no name for a set")
	// ErrNoSets is wrapped where a directory holds no set.
	ErrNoSets = errors.New("no sets")
)

// SyntaxError says where a document stops being JSON.
type SyntaxError struct {
	File   string // as given to ReadGeoJSON
	Line   int    // from 1
	Column int    // from 1, in bytes
	Offset int64  // from 0, in bytes, of the first byte that is wrong
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s (byte %d)", e.File, e.Line, e.Column, e.Reason, e.Offset)
}

// RefusedError says why a single fence was refused.
type RefusedError struct{ Finding Finding }

func (e *RefusedError) Error() string { return "fence " + e.Finding.String() }
