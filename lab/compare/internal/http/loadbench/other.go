//go:build !linux

package loadbench

import (
	"errors"
	"fmt"
	"os"

	"paddock/lab/compare/internal/harness/measure"
)

// bare waits by calls that Linux has.
func bare(measure.Options) (*measure.Measurement, error) {
	return nil, fmt.Errorf("a bare loop runs on Linux only: %w", errors.ErrUnsupported)
}

// terminal is one of Linux.
type terminal struct{ slave *os.File }

func openTerminal() (*terminal, error) {
	return nil, fmt.Errorf("a terminal is opened on Linux only: %w", errors.ErrUnsupported)
}

func (*terminal) close() {}
