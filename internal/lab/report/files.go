package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFiles writes the report to a directory, which it makes: summary.json.
func (r *Run) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "summary.json"), r.WriteJSON)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
