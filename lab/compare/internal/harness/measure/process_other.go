//go:build !linux

package measure

import (
	"errors"
	"fmt"
)

// ProcessUsage reads /proc, which there is on Linux.
func ProcessUsage(int) (Usage, error) {
	return Usage{}, fmt.Errorf("other processes are measured on Linux only: %w", errors.ErrUnsupported)
}
