package client

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"paddock/internal/platform"
	"paddock/internal/platform/doctor"
)

// lowFiles lowers the limit of open files of this process, until the test ends.
func lowFiles(t *testing.T) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = 1024
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
}

// TestDoctorFindsAFullDisk fills the disk of the data directory.
func TestDoctorFindsAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("no small disk can be mounted here: ", err)
	}
	t.Cleanup(func() { // after the platform has ended
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p := start(t, func(o *platform.Options) {
		o.Config.Data.Dir, o.Config.Journal.MinFree = filepath.Join(disk, "data"), 16<<20
	})
	p.send(http.MethodPost, "v1/positions", `{"id":"a","lon":1,"lat":1}`)
	if r, err := p.doctor("disk"); err != nil || r.Status != doctor.OK {
		t.Errorf("an empty disk: %v, %+v", err, r)
	}
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 45<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p.finds("disk", doctor.Problem, "less than 16MiB are free", "journal.keep")
}
