//go:build !linux

package process

import (
	"errors"
	"fmt"
)

// Read is not there.
func Read(int) (Use, error) {
	return Use{}, fmt.Errorf("what a process uses is read from Linux's /proc: %w", errors.ErrUnsupported)
}
