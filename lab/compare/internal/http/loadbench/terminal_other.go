//go:build !linux

package loadbench

import (
	"errors"
	"fmt"
	"os"
)

// terminal is one of Linux.
type terminal struct{ slave *os.File }

func openTerminal() (*terminal, error) {
	return nil, fmt.Errorf("a terminal is opened on Linux only: %w", errors.ErrUnsupported)
}

func (*terminal) close() {}
