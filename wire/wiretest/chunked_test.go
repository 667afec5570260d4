package wiretest_test

import (
	"bytes"
	"iter"
	"slices"
	"testing"

	"paddock/wire/wiretest"
)

func TestChunked(t *testing.T) {
	data := []byte("0123456789")
	var sizes []int
	wiretest.Chunked(t, data, func(t *testing.T, pieces iter.Seq[[]byte]) {
		var copied []byte
		var kept [][]byte
		for p := range pieces {
			if len(kept) == 0 {
				sizes = append(sizes, len(p))
			}
			copied = append(copied, p...)
			kept = append(kept, p)
		}
		if !bytes.Equal(copied, data) {
			t.Errorf("the pieces are %q", copied)
		}
		if len(bytes.Join(kept, nil)) != len(data) || bytes.ContainsAny(bytes.Join(kept, nil), string(data)) {
			t.Errorf("pieces that were kept still hold %q", kept)
		}
	})
	if want := []int{1, 2, 3, 5, 7, 8, 9, 10}; !slices.Equal(sizes, want) {
		t.Errorf("sizes %v, want %v", sizes, want)
	}
	calls := 0
	wiretest.Chunked(t, nil, func(t *testing.T, pieces iter.Seq[[]byte]) {
		calls++
		for p := range pieces {
			t.Errorf("a piece of nothing: %v", p)
		}
	})
	if calls != 1 {
		t.Errorf("%d subtests for no data", calls)
	}
}
