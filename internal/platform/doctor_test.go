package platform_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/doctor"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/journaltest"
	"paddock/internal/process/config"
)

// TestDoctorFindsASlowDisk puts the journal on a disk on which each write takes 150 ms until it is
// durable.
func TestDoctorFindsASlowDisk(t *testing.T) {
	cfg := config.Default()
	cfg.Data.Dir = filepath.Join(t.TempDir(), "data")
	o := platform.Options{Config: cfg}
	o.OpenJournal(func(o journal.Options) (*journal.Disk, error) {
		return journal.Open(journaltest.Slow(o, 150*time.Millisecond))
	})
	r := startWith(t, o)
	for range 5 {
		r.take(1, "v1/positions", "", []byte(`{"id":"a","lon":1,"lat":1,"t":`+time.Now().Format(`"2006-01-02T15:04:05.000000Z07:00"`)+`}`))
	}
	var report doctor.Report
	r.ask(&report, http.MethodGet, "v1/doctor?only=fsync", "", nil)
	found := report.Checks[0]
	if found.Status != doctor.Problem || !strings.Contains(found.Text, "records of the journal") || !strings.Contains(found.Advice, "local SSD") {
		t.Errorf("%+v", found)
	}
}

// TestTheSummary counts what a dashboard shows all the time.
func TestTheSummary(t *testing.T) {
	r := start(t, config.Default(), nil)
	status, answer, err := r.call(http.MethodPost, "v1/positions", "", []byte(`[{"id":"a","lon":1,"lat":1},{"id":"a","lon":1,"lat":1,"t":"2026-01-01T00:00:00Z"},{"id":"b","lon":1,"lat":95},{"id":"c"}]`))
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err, string(answer))
	}
	var report doctor.Report
	r.ask(&report, http.MethodGet, "v1/doctor?only=summary", "", nil)
	if want := (doctor.Summary{Objects: 1, Late: 1, Rejected: 2}); report.Summary != want || len(report.Checks) != 0 {
		t.Errorf("%+v", report)
	}
	for _, of := range []string{"http", "bus", "wire"} {
		if report.Addresses[of] == "" {
			t.Errorf("no address of %s: %v", of, report.Addresses)
		}
	}
}
