//go:build !linux

package busbench

import (
	"errors"
	"fmt"

	"paddock/bench/internal/measure"
)

// processUsage reads /proc, which there is on Linux.
func processUsage(int) (measure.Usage, error) {
	return measure.Usage{}, fmt.Errorf("other processes are measured on Linux only: %w", errors.ErrUnsupported)
}
