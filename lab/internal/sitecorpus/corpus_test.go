package sitecorpus_test

import (
	"bytes"
	"compress/flate"
	"slices"
	"strings"
	"testing"

	"paddock/lab/internal/sitecorpus"
)

// The files are the same bytes everywhere. A change makes earlier measurements incomparable.
func TestDigest(t *testing.T) {
	const want = "62602934cecb9835aa3a92ef1dfb9a3e41daef971eab9c74977c34a5a759f884"
	files := sitecorpus.Make()
	if got := sitecorpus.Digest(files); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	files[17].Body[3]++
	if sitecorpus.Digest(files) == want {
		t.Error("another byte has the same digest")
	}
}

// The sizes are those of a page: the median of 12 kB, few that are small or large, and most
// of the bytes in files that are no small exchange for the tunnel.
func TestSizes(t *testing.T) {
	files := sitecorpus.Make()
	var sizes []int
	large, largeBytes, all := 0, 0, 0
	for _, f := range files {
		n := len(f.Body)
		sizes = append(sizes, n)
		all += n
		if n > 32<<10 {
			large, largeBytes = large+1, largeBytes+n
		}
	}
	slices.Sort(sizes)
	middle := (sizes[91] + sizes[92]) / 2
	if len(files) != sitecorpus.Files || middle < 11_900 || middle > 12_100 || sizes[0] < 50 || sizes[183] > 600_000 {
		t.Errorf("%d files of %d to %d bytes, the median %d", len(files), sizes[0], sizes[183], middle)
	}
	if large != 44 || largeBytes*100/all < 70 || int64(all) != sitecorpus.Size(files) {
		t.Errorf("%d large files with %d of %d bytes", large, largeBytes, all)
	}
}

// As much is text as is said, and only that can be compressed.
func TestKinds(t *testing.T) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for i, f := range sitecorpus.Make() {
		sample := f.Body[:min(len(f.Body), 2<<10)]
		packed.Reset()
		w.Reset(&packed)
		_, _ = w.Write(sample)
		_ = w.Close()
		if is := strings.HasPrefix(f.Type, "text/"); is != (packed.Len() < len(sample)*3/4) {
			t.Errorf("file %d, %s: %d bytes, %d when they are compressed", i, f.Type, len(sample), packed.Len())
		} else if is {
			texts++
		}
	}
	if share := float64(texts) / sitecorpus.Files; share < 0.34 || share > 0.36 {
		t.Errorf("%.3f of the files are text", share)
	}
}
