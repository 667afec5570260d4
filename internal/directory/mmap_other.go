//go:build !unix

package directory

import (
	"io"
	"os"
)

// mapped gives the bytes of a file, read at once.
func mapped(f *os.File, size int) ([]byte, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(f, b)
	return b, err
}

func unmap([]byte) {}

func private(os.FileInfo) error { return nil }

func syncDir(string) error { return nil }
