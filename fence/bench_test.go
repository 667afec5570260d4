package fence_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"paddock/fence"
)

// largest gives the largest file of the real data.
func largest(tb testing.TB) []byte {
	tb.Helper()
	files, _ := filepath.Glob(filepath.Join(cityDir, "*json"))
	var most []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		if len(data) > len(most) {
			most = data
		}
	}
	if most == nil {
		tb.Skip("no data in " + cityDir)
	}
	return most
}

func BenchmarkLoad(b *testing.B) {
	data := largest(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := fence.ReadGeoJSON(bytes.NewReader(data), "largest", fence.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := fence.NewSet("largest", fence.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Replace(c); err != nil {
			b.Fatal(err)
		}
	}
}
