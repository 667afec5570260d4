package tunneld

import (
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"paddock/internal/process/keyid"
)

// The file of the first seen key is written completely or not at all; an empty one, left by a
// crash, counts as none.
func TestPinThatACrashHasLeft(t *testing.T) {
	p := &pinFile{filepath.Join(t.TempDir(), "server.id"), slog.New(slog.DiscardHandler)}
	if err := os.WriteFile(p.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   keyid.ID
		want bool
	}{{keyid.ID{1}, true}, {keyid.ID{2}, false}, {keyid.ID{1}, true}} {
		if err := p.verify(tls.ConnectionState{}, c.id); (err == nil) != c.want {
			t.Errorf("%s: %v", c.id, err)
		}
	}
}
