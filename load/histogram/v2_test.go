package histogram_test

import (
	"bytes"
	"encoding/base64"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"paddock/load/histogram"
)

// both records values here and in HdrHistogram.
func both(t *testing.T, values []int64) (*histogram.Histogram, *hdr.Histogram) {
	t.Helper()
	ours, theirs := histogram.New(), hdr.New(1, int64(time.Hour), 3)
	for _, v := range values {
		ours.Record(v)
		if err := theirs.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return ours, theirs
}

// samples returns histograms that differ in the properties that the encoding depends on.
func samples() map[string][]int64 {
	rng := rand.New(rand.NewPCG(11, 12))
	dense := make([]int64, 0, 100_000)
	for i := range 100_000 {
		dense = append(dense, int64(i%5_000))
	}
	return map[string][]int64{
		"empty": nil, "zero": {0}, "one": {1}, "zero and two": {0, 0, 2}, "the largest": {int64(time.Hour)},
		"a gap of one": {5, 7}, "a gap of two": {5, 8}, "many": sample(rng, 100_000), "dense": dense,
	}
}

// HdrHistogram for Go reads every count that is written, and its output can be read.
func TestExchange(t *testing.T) {
	var e histogram.Encoder
	for name, values := range samples() {
		t.Run(name, func(t *testing.T) {
			ours, theirs := both(t, values)
			read, err := hdr.Decode([]byte(base64.StdEncoding.EncodeToString(e.Encode(ours))))
			if err != nil {
				t.Fatal(err)
			}
			if !read.Equals(theirs) {
				t.Error("HdrHistogram reads another histogram")
			}
			text, err := theirs.Encode(hdr.V2CompressedEncodingCookieBase)
			if err != nil {
				t.Fatal(err)
			}
			packed, _ := base64.StdEncoding.DecodeString(string(text))
			back, err := histogram.Decode(packed)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(back.AppendV2(nil), ours.AppendV2(nil)) {
				t.Error("another histogram is read")
			}
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
				if got, want := back.Quantile(q), time.Duration(read.ValueAtQuantile(100*q)); got != min(want, histogram.Max) {
					t.Errorf("quantile %v: %d, want %d", q, got, want)
				}
			}
		})
	}
}

// Each value has the bucket that HdrHistogram gives it.
func TestSameBuckets(t *testing.T) {
	var values []int64
	for e := range 42 {
		values = append(values, 1<<e-1, 1<<e, 1<<e+1)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 1_000_000 {
		values = append(values, rng.Int64N(int64(time.Hour))>>rng.IntN(42))
	}
	theirs := hdr.New(1, int64(time.Hour), 3)
	for _, v := range values {
		if v > int64(time.Hour) {
			continue
		}
		r := histogram.RangeOf(v)
		same := theirs.ValuesAreEquivalent
		if v < r.Low || v > r.High || !same(r.Low, v) || !same(v, r.High) ||
			r.Low > 0 && same(r.Low-1, v) || same(v, r.High+1) {
			t.Fatalf("%d is in %d to %d, but not in HdrHistogram", v, r.Low, r.High)
		}
	}
}

// Merged histograms are written as the histogram of all that was recorded, to the byte.
func TestMergedBytes(t *testing.T) {
	var one, other histogram.Encoder
	all, merged := histogram.New(), histogram.New()
	parts := [4]*histogram.Histogram{histogram.New(), histogram.New(), histogram.New(), histogram.New()}
	for i, v := range sample(rand.New(rand.NewPCG(9, 10)), 50_000) {
		all.Record(v)
		parts[i%len(parts)].Record(v)
	}
	for _, p := range parts {
		back, err := histogram.Decode(one.Encode(p))
		if err != nil {
			t.Fatal(err)
		}
		merged.Add(back)
	}
	if !bytes.Equal(one.Encode(merged), other.Encode(all)) {
		t.Error("the bytes differ")
	}
}

// An Encoder leaves nothing of one histogram in the next.
func TestEncoderIsReused(t *testing.T) {
	var used, fresh histogram.Encoder
	big, small := histogram.New(), histogram.New()
	for _, v := range sample(rand.New(rand.NewPCG(1, 9)), 10_000) {
		big.Record(v)
	}
	small.RecordN(5, math.MaxUint64)
	used.Encode(big)
	if !bytes.Equal(used.Encode(small), fresh.Encode(small)) {
		t.Error("the bytes differ")
	}
}

func TestDecodeErrors(t *testing.T) {
	var e histogram.Encoder
	h := histogram.New()
	h.Record(77)
	good := bytes.Clone(e.Encode(h))
	wide := hdr.New(1, int64(time.Hour), 4)
	text, _ := wide.Encode(hdr.V2CompressedEncodingCookieBase)
	digits, _ := base64.StdEncoding.DecodeString(string(text))
	long := hdr.New(1, 24*int64(time.Hour), 3)
	_ = long.RecordValue(3 * int64(time.Hour))
	text, _ = long.Encode(hdr.V2CompressedEncodingCookieBase)
	hours, _ := base64.StdEncoding.DecodeString(string(text))
	for name, b := range map[string][]byte{
		"nothing": nil, "short": good[:7], "cut": good[:len(good)-3], "another cookie": append([]byte{9}, good[1:]...),
		"four digits": digits, "three hours": hours, "garbage": append(bytes.Clone(good[:8]), make([]byte, len(good)-8)...),
	} {
		if _, err := histogram.Decode(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Whatever is read without an error is written and read as the same.
func FuzzDecode(f *testing.F) {
	var e histogram.Encoder
	for _, values := range samples() {
		h := histogram.New()
		for _, v := range values {
			h.Record(v)
		}
		f.Add(bytes.Clone(e.Encode(h)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := histogram.Decode(b)
		if err != nil {
			return
		}
		var e histogram.Encoder
		again, err := histogram.Decode(e.Encode(h))
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, h)
	})
}

func BenchmarkEncode(b *testing.B) {
	h := histogram.New()
	for _, v := range sample(rand.New(rand.NewPCG(5, 6)), 1<<17) {
		h.Record(v)
	}
	b.Run("ours", func(b *testing.B) {
		var e histogram.Encoder
		for b.Loop() {
			b.SetBytes(int64(len(e.Encode(h))))
		}
	})
	b.Run("hdrhistogram-go", func(b *testing.B) {
		theirs := hdr.New(1, int64(time.Hour), 3)
		for r, n := range h.All() {
			_ = theirs.RecordValues(r.Low, int64(n))
		}
		for b.Loop() {
			text, _ := theirs.Encode(hdr.V2CompressedEncodingCookieBase)
			b.SetBytes(int64(len(text)))
		}
	})
}
