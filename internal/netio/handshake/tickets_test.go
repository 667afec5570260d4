package handshake

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Keys are read again, replaced each day and dropped after three, in a file with mode 0600. A file
// that other users can read is not used.
func TestTicketKeys(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "tickets"), slog.New(slog.DiscardHandler)
	first := OpenTickets(path, log)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	again := OpenTickets(path, log)
	if len(again.keys) != 1 || again.keys[0].key != first.keys[0].key {
		t.Error("another key after a restart")
	}
	now := time.Now()
	for day := range 5 {
		again.rotate(now.Add(time.Duration(day+1) * ticketEach))
	}
	if len(again.keys) != maxTicketKeys || again.keys[0].key == again.keys[1].key {
		t.Errorf("%d keys after five days", len(again.keys))
	}
	for _, k := range again.keys {
		if k.key == first.keys[0].key {
			t.Error("the first key is there after five days")
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	exposed := OpenTickets(path, log)
	if after, err := os.ReadFile(path); err != nil || bytes.Equal(before, after) || len(exposed.keys) != 1 {
		t.Error("keys that others could read are used")
	}
	if err := os.WriteFile(path, []byte("2026-01-01T00:00:00Z zz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if broken := OpenTickets(path, log); len(broken.keys) != 1 {
		t.Error("a broken file was not replaced")
	}
}
