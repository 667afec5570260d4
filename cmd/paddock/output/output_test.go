package output_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"paddock/cmd/paddock/output"
)

// A file gets its name once it is whole. A device keeps its name, though it is written.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	write := func(path string, failure error) (n int64, err error) {
		return output.Write(io.Discard, path, func(w io.Writer) error {
			_, err := io.WriteString(w, "text")
			return errors.Join(err, failure)
		})
	}
	file, device, broken := filepath.Join(dir, "file"), filepath.Join(dir, "device"), errors.New("broken")
	if err := os.Symlink(os.DevNull, device); err != nil {
		t.Skip(err)
	}
	for range 2 { // the second one replaces the first one
		if n, err := write(file, nil); n != 4 || err != nil {
			t.Error(n, err)
		}
	}
	if text, err := os.ReadFile(file); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := write(filepath.Join(dir, "other"), broken); !errors.Is(err, broken) {
		t.Error(err)
	}
	if n, err := write(device, nil); n != 4 || err != nil {
		t.Error(n, err)
	}
	if target, err := os.Readlink(device); target != os.DevNull {
		t.Errorf("the device is replaced: %q, %v", target, err)
	}
	if all, err := os.ReadDir(dir); len(all) != 2 || err != nil {
		t.Error(all, err)
	}
}
