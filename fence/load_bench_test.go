package fence_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
)

// The shares of a load: BenchmarkRead within BenchmarkLoad within BenchmarkFile, and
// BenchmarkIndex for the rest.

func readLargest(tb testing.TB, data []byte) *geojson.Collection {
	tb.Helper()
	c, err := geojson.ReadGeoJSON(bytes.NewReader(data), "largest", geojson.ReadOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// BenchmarkRead reads a document that is in memory, and validates it.
func BenchmarkRead(b *testing.B) {
	data := largest(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		readLargest(b, data)
	}
}

// BenchmarkValidate validates fences that have been read, one by one.
func BenchmarkValidate(b *testing.B) {
	data := largest(b)
	c := readLargest(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for i := range c.Fences {
			geojson.Validate(c.Fences[i].Geometry)
		}
	}
}

// BenchmarkLoad makes a set of a document that is in memory.
func BenchmarkLoad(b *testing.B) {
	data := largest(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := fence.NewSet("largest", fence.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Replace(readLargest(b, data)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFile makes a set of a file that the system has in its cache, up to the first answer.
func BenchmarkFile(b *testing.B) {
	data := largest(b)
	name := filepath.Join(b.TempDir(), "largest.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		c, err := geojson.ReadGeoJSON(f, name, geojson.ReadOptions{})
		if err := errors.Join(err, f.Close()); err != nil {
			b.Fatal(err)
		}
		s, err := fence.NewSet("largest", fence.Options{})
		if err != nil {
			b.Fatal(err)
		}
		snap, err := s.Replace(c)
		if err != nil {
			b.Fatal(err)
		}
		snap.Append(nil, -73.98, 40.75)
	}
}

// BenchmarkLoadDir makes sets of all files of the real data.
func BenchmarkLoadDir(b *testing.B) {
	largest(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := fence.LoadDir(os.DirFS(cityDir), fence.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
