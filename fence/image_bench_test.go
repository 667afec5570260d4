package fence_test

import (
	"bytes"
	"io"
	"testing"

	"paddock/fence"
)

// BenchmarkImageOpen makes a set of an image that is in memory.
func BenchmarkImageOpen(b *testing.B) {
	var image bytes.Buffer
	if err := largestSet(b, fence.KindCellmap).WriteImage(&image, nil); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(image.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := fence.OpenImage("largest", image.Bytes(), fence.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImageWrite makes an image of a set, and writes it nowhere.
func BenchmarkImageWrite(b *testing.B) {
	s := largestSet(b, fence.KindCellmap)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.WriteImage(io.Discard, nil); err != nil {
			b.Fatal(err)
		}
	}
}
