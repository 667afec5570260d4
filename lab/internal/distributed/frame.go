package distributed

import (
	"fmt"

	"paddock/load"
	"paddock/load/histogram"
)

// frame is the message stat: an interval of a worker's part of the run.
type frame struct {
	ID     string
	Seq    int           // counts the worker's intervals from 0
	Counts load.Interval // without the histograms
	Times  []packed      // those, in the order of Histograms
}

// packed is a histogram: its counts in encoding V2, nil if it was not measured, and its extremes,
// which that has to the bucket alone.
type packed struct {
	V2         []byte
	Least, Max int64 // ns
}

// interval unpacks the frame.
func (f *frame) interval() (*load.Interval, error) {
	v := f.Counts
	empty, all := load.NewInterval().Histograms(), v.Histograms()
	if len(f.Times) != len(all) {
		return nil, fmt.Errorf("interval %d of a worker has %d histograms, of %d", f.Seq, len(f.Times), len(all))
	}
	for i, into := range all {
		if *into = *empty[i]; f.Times[i].V2 == nil {
			continue
		}
		h, err := f.Times[i].histogram()
		if err != nil {
			return nil, fmt.Errorf("interval %d of a worker: %w", f.Seq, err)
		}
		*into = h
	}
	return &v, nil
}

// histogram returns what was recorded, as far as a histogram tells: the extremes are what they
// were, and all other values are in their buckets.
func (p *packed) histogram() (*histogram.Histogram, error) {
	counts, err := histogram.Decode(p.V2)
	if err != nil {
		return nil, err
	}
	h := histogram.New()
	for r, n := range counts.All() {
		if r.Low <= p.Max && p.Max <= r.High {
			h.Record(p.Max)
			n--
		}
		h.RecordN(max(r.Low, min(p.Least, r.High)), n)
	}
	if h.Count() > 0 && (int64(h.Min()) != p.Least || int64(h.Max()) != p.Max) {
		return nil, fmt.Errorf("its extremes %d and %d ns are not those of its counts", p.Least, p.Max)
	}
	return h, nil
}

// checksum is a number that adds up: the sum of those of some intervals is that of their sum. It
// changes with every count, and with the bucket of every time.
func checksum(v *load.Interval) (sum uint64) {
	counts := append([]int64{v.Sent, v.Done, v.BytesOut, v.BytesIn, v.BodyIn, v.Connects, v.Reconnects}, v.Failed[:]...)
	for i, n := range append(append(counts, v.Late[:]...), v.Lost) {
		sum += uint64(n) * mix(uint64(i))
	}
	for i, h := range v.Histograms() {
		if *h == nil {
			continue
		}
		for r, n := range (*h).All() {
			sum += n * mix(uint64(i+1)<<56|uint64(r.Low))
		}
	}
	return sum
}

// mix spreads the bits of a number (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
