package report

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFiles ends the files of the run's directory, and writes the HTML file beside them.
func (r *Run) WriteFiles(dir string) error {
	if err := r.Directory.Finish(r.Document, r.Result); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	return errors.Join(r.WriteHTML(f), f.Close())
}
