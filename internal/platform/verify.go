package platform

import (
	"errors"
	"log/slog"
	"path/filepath"

	"paddock/fence"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
)

// Verify applies the records of a data directory again, and compares events and states with the
// stored ones. No platform may run with it, and nothing is written. The error wraps
// [ingest.ErrDiffers], or is one of the journal.
func Verify(dir string, log *slog.Logger, progress func(number, newest uint64)) (found ingest.Verified, err error) {
	j, err := journal.Open(journal.Options{Dir: journalDir(dir), Logger: log, ReadOnly: true})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	kept, err := views.Open(views.Options{Catalog: &fence.Catalog{}, Journal: j})
	if err != nil {
		return found, err
	}
	return ingest.Verify(ingest.Config{Journal: j, Fences: kept}, progress)
}

// journalDir returns the journal's directory within a data directory.
func journalDir(dir string) string { return filepath.Join(dir, "journal") }
