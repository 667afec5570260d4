package listen

import (
	"os"
	"path/filepath"
	"testing"
)

// A private socket is so from the moment on at which its file is there: a connection that another
// user made before would be served.
func TestPrivateFromTheBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := bindPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if file, err := os.Lstat(path); err != nil || file.Mode().Perm() != privateMode {
		t.Errorf("%v, %v", file.Mode(), err)
	}
}
