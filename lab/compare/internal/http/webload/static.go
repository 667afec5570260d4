package webload

import (
	"bytes"
	"os"
	"path/filepath"
	"time"
)

// StaticBytes is the size of the file of the original benchmarks.
const StaticBytes = 3_500

// WriteStatic writes a file of so many bytes that any server may show.
func WriteStatic(root, name string, size int) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	path := filepath.Join(root, name)
	if err := os.WriteFile(path, bytes.Repeat([]byte("static, "), size/8+1)[:size], 0o644); err != nil {
		return err
	}
	settled := time.Now().Add(-time.Hour) // servers look at files that have just been written more often
	return os.Chtimes(path, settled, settled)
}
