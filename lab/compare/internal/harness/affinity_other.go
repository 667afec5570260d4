//go:build !linux

package harness

import (
	"errors"
	"fmt"
)

// Placement is where the two processes of a measurement run, on Linux.
type Placement struct{}

func place(Pin) (*Placement, error) {
	return nil, fmt.Errorf("processes are bound to processors on Linux only: %w", errors.ErrUnsupported)
}

func (*Placement) bind() (undo func() error, err error) { return nil, errors.ErrUnsupported }

// Start calls start; nothing else can be placed here.
func (*Placement) Start(start func() error) error { return start() }
