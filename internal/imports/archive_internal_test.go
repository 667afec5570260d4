package imports

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

// TestUnpackIsBounded holds that an archive is unpacked to its bound, whatever it claims, and that
// the bound is that of all its files together.
func TestUnpackIsBounded(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"a.kml", "b.kml", "c.kml"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err := unpack(b.Bytes(), 3<<20); err != nil || len(files) != 3 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if _, err := unpack(b.Bytes(), 3<<20-1); err == nil || !strings.Contains(err.Error(), "c.kml: the archive has over 3145727 bytes when it is unpacked") {
		t.Error(err)
	}
}
