package fence

import "errors"

var (
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
