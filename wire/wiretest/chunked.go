package wiretest

import (
	"fmt"
	"iter"
	"slices"
	"testing"
)

// Chunked runs fn as a subtest for each of many sizes of pieces: 1, 2, 3, 7 and
// on in that manner, and all at once. The pieces together are data.
//
// Each piece is a buffer of its own without spare capacity, and is overwritten as soon as the loop
// goes on, so that a decoder that keeps borrowed bytes fails here.
func Chunked(t *testing.T, data []byte, fn func(t *testing.T, pieces iter.Seq[[]byte])) {
	t.Helper()
	for _, size := range chunkSizes {
		if size >= len(data) {
			break
		}
		t.Run(fmt.Sprintf("pieces of %d", size), func(t *testing.T) { fn(t, mangled(data, size)) })
	}
	t.Run("one piece", func(t *testing.T) { fn(t, mangled(data, max(1, len(data)))) })
}

// chunkSizes are around the sizes of frame headers and of buffers, odd and even.
var chunkSizes = []int{1, 2, 3, 5, 7, 8, 9, 16, 31, 64, 255, 1024, 4095, 4096, 65536}

// mangle overwrites a piece after its use. It is no valid byte of UTF-8, and makes any length
// absurd.
const mangle = 0xdb

func mangled(data []byte, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for part := range slices.Chunk(data, size) {
			piece := slices.Clip(slices.Clone(part))
			more := yield(piece)
			for i := range piece {
				piece[i] = mangle
			}
			if !more {
				return
			}
		}
	}
}
