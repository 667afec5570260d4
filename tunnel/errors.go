package tunnel

import "errors"

// Errors for what callers branch on.
var (
	ErrDenied     = errors.New("tunnel: policy does not allow it")
	ErrNameHeld   = errors.New("tunnel: name held by another client")
	ErrOverloaded = errors.New("tunnel: too much is under way")
	ErrAway       = errors.New("tunnel: the client is away")
	ErrClosed     = errors.New("tunnel: closed")
)
