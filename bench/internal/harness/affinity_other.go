//go:build !linux

package harness

import (
	"errors"
	"fmt"
)

// placement is where the two processes of a measurement run, on Linux.
type placement struct{}

func place(Pin) (*placement, error) {
	return nil, fmt.Errorf("processes are bound to processors on Linux only: %w", errors.ErrUnsupported)
}

func (*placement) bind() (undo func() error, err error) { return nil, errors.ErrUnsupported }

func (*placement) start(func() error) error { return errors.ErrUnsupported }
