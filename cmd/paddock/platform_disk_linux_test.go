package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// upOnSmallDisk starts a platform whose data are on a disk of 64 MiB.
func upOnSmallDisk(t *testing.T, minFree string) (disk string, p *upProcess) {
	t.Helper()
	disk = t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("no small disk can be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(disk, "paddock.yaml")
	if err := os.WriteFile(file, []byte("journal: {min_free: "+minFree+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return disk, upKeeping(t, filepath.Join(disk, "data"), "-c", file)
}

// TestAFullDisk fills the disk of a platform. It refuses positions and changes with the reason,
// answers look-ups, and goes on by itself once there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	disk, p := upOnSmallDisk(t, "16MiB")
	if status, answer := p.send(t, http.MethodPut, "v1/sets/s", squareFeature); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	if status, answer := p.send(t, http.MethodPost, "v1/positions", `{"id":"v","lon":1,"lat":1}`); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 45<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	const reason = "not stored: less than 16MiB are free on the journal's disk"
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "readyz", ""},
		{http.MethodPost, "v1/positions", `{"id":"new","lon":1,"lat":1}`},
		{http.MethodPut, "v1/sets/s/fences/g", squareFeature},
		{http.MethodDelete, "v1/sets/s", ""},
		{http.MethodDelete, "v1/objects/v", ""},
	} {
		if answer := p.until(t, c.method, c.path, c.body, http.StatusServiceUnavailable); !strings.Contains(answer, reason) {
			t.Errorf("%s %s: %s", c.method, c.path, answer)
		}
	}
	for path, want := range map[string]string{
		"v1/objects/v": `"fence":"f"`, "v1/search?lon=1&lat=1": `"f"`, "healthz": "ok",
		"metrics": "paddock_journal_refusing 1", "v1/events?wait=0": "paddock.fence.enter",
	} {
		if status, answer := p.send(t, http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %.200s", path, status, answer)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.until(t, http.MethodGet, "readyz", "", http.StatusOK)
	p.until(t, http.MethodPost, "v1/positions", `{"id":"new","lon":1,"lat":1}`, http.StatusOK)
	if status, answer := p.send(t, http.MethodGet, "v1/objects/new", ""); status != http.StatusOK {
		t.Error(status, answer)
	}
	p.terminate(t)
}

// TestAFailedWrite fills a disk at once, so that a write of the journal fails. The process ends
// with a code of its own, and the next one knows what was acknowledged.
func TestAFailedWrite(t *testing.T) {
	t.Parallel()
	disk, p := upOnSmallDisk(t, "0B")
	if status, answer := p.send(t, http.MethodPut, "v1/sets/s", squareFeature); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	ctx, stop := context.WithCancel(t.Context())
	wait := p.load(ctx, 4)
	<-time.After(100 * time.Millisecond)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 64<<20), 0o600); err == nil {
		t.Error("the disk is not full")
	}
	large := fmt.Sprintf(`{"id":"large","lon":1,"lat":1,"props":{"text":%q}}`, strings.Repeat("x", 2000))
	batch := "[" + strings.Repeat(large+",", 99) + large + "]"
	for { // until the journal takes a file more
		if _, _, err := p.try(t.Context(), http.MethodPost, "v1/positions", batch); err != nil {
			break
		}
	}
	_ = p.Wait() // with the code that is examined below
	stop()
	acknowledged := wait()
	if code := p.ProcessState.ExitCode(); code != 5 || !strings.Contains(p.log.String(), "journal") || !strings.Contains(p.log.String(), "mend") {
		t.Errorf("code %d:\n%s", code, &p.log)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p = upKeeping(t, filepath.Join(disk, "data"))
	p.knows(t, acknowledged)
	p.terminate(t)
}
