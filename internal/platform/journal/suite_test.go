package journal_test

import (
	"testing"

	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/journaltest"
)

func TestSuite(t *testing.T) {
	must := func(t *testing.T, j journal.Journal, err error) journal.Journal {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	for name, open := range map[string]journaltest.Maker{
		"memory": func(*testing.T) (journal.Journal, func() journal.Journal) { return journal.NewMemory(), nil },
		"disk": func(t *testing.T) (journal.Journal, func() journal.Journal) {
			o := journal.Options{Dir: t.TempDir()}
			again := func() journal.Journal {
				j, err := journal.Open(o)
				return must(t, j, err)
			}
			return again(), again
		},
		"overlay": func(t *testing.T) (journal.Journal, func() journal.Journal) {
			j, err := journal.NewOverlay(journal.NewMemory(), 1<<30)
			return must(t, j, err), nil
		},
		"simulated disk": func(t *testing.T) (journal.Journal, func() journal.Journal) {
			disk := journaltest.NewDisk()
			again := func() journal.Journal {
				j, err := disk.Open(false)
				return must(t, j, err)
			}
			return again(), again
		},
	} {
		t.Run(name, func(t *testing.T) { journaltest.Suite(t, open) })
	}
}
