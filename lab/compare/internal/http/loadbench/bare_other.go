//go:build !linux

package loadbench

import (
	"errors"
	"fmt"

	"paddock/lab/compare/internal/harness/measure"
)

// bare waits by calls that Linux has.
func bare(measure.Options) (*measure.Measurement, error) {
	return nil, fmt.Errorf("a bare loop runs on Linux only: %w", errors.ErrUnsupported)
}
