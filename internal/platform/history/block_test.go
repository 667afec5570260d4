package history

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"paddock/fence/track"
)

// randomFixes returns fixes of every kind, ordered by time.
func randomFixes(r *rand.Rand, n int) (fixes []Fix) {
	at := track.Millis(r.Int64N(1 << 42))
	measure := func() track.Measure {
		switch r.IntN(4) {
		case 0:
			return track.Measure{}
		case 1:
			return track.Measure{Value: r.Float32() * 100, Known: true}
		}
		return track.Measured(float64(r.IntN(3000)) / 10)
	}
	props := []string{"", "", `{"a":1}`, `{"line":"M1"}`}
	for range n {
		at += 1 + track.Millis(r.IntN(3000))
		f := Fix{
			Time: at, Arrived: at + track.Millis(r.IntN(5000)-1000), Speed: measure(), Heading: measure(), Accuracy: measure(),
			Lon: float64(r.IntN(3.6e9)-1.8e9) / grid, Lat: float64(r.IntN(1.8e9)-9e8) / grid, Props: props[r.IntN(len(props))],
		}
		if r.IntN(5) == 0 {
			f.Lat = 90 * r.Float64()
		}
		fixes = append(fixes, f)
	}
	return fixes
}

func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 8, 9, 100, 3600} {
		for range 20 {
			fixes := randomFixes(r, n)
			if r.IntN(2) == 0 { // of one device: the same columns in each fix
				for i := range fixes {
					fixes[i].Speed, fixes[i].Heading, fixes[i].Accuracy = track.Measured(float64(i)/100), track.Measured(float64(i)/7), track.Measure{}
				}
			}
			b := appendBlock(nil, fixes)
			got, err := appendFixes(nil, b)
			if err != nil || !reflect.DeepEqual(got, fixes) {
				t.Fatalf("%d fixes: %v\ngot  %+v\nwant %+v", n, err, got, fixes)
			}
			for end := range min(len(b), 300) {
				if got, err := appendFixes(nil, b[:end]); err == nil {
					t.Errorf("%d of %d bytes are %d fixes", end, len(b), len(got))
				}
			}
			if _, err := appendFixes(nil, append(b, 0)); err == nil {
				t.Error("a byte too many is accepted")
			}
		}
	}
}

// Coordinates that are no steps of the grid, and extreme numbers, come back bit by bit.
func TestBlocksAreExact(t *testing.T) {
	f := Fix{
		Time: math.MinInt64, Arrived: math.MaxInt64, Lon: math.Copysign(0, -1), Lat: math.Nextafter(52.5, 53),
		Speed: track.Measure{Value: float32(math.Inf(1)), Known: true}, Heading: track.Measure{Value: float32(math.Copysign(0, -1)), Known: true},
	}
	g := Fix{Time: math.MaxInt64, Lon: 1e300, Lat: math.SmallestNonzeroFloat64, Accuracy: track.Measure{Value: math.MaxFloat32, Known: true}}
	got, err := appendFixes(nil, appendBlock(nil, []Fix{f, g}))
	if err != nil || !reflect.DeepEqual(got, []Fix{f, g}) || !math.Signbit(got[0].Lon) || !math.Signbit(float64(got[0].Heading.Value)) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestOrdered(t *testing.T) {
	fix := func(at, arrived track.Millis) Fix { return Fix{Time: at, Arrived: arrived} }
	got := ordered([]Fix{fix(3, 1), fix(1, 2), fix(3, 3), fix(2, 4), fix(1, 5)})
	if want := []Fix{fix(1, 2), fix(2, 4), fix(3, 1)}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for at, want := range map[track.Millis][2]int64{0: {0, 0}, -1: {-1, 23}, day - 1: {0, 23}, day: {1, 0}, -day: {-1, 0}, day + 2*hour: {1, 2}} {
		if dayOf(at) != want[0] || hourOf(at) != int(want[1]) {
			t.Errorf("%d: day %d, hour %d", at, dayOf(at), hourOf(at))
		}
	}
}

// FuzzBlock: any bytes are an error, or fixes that are stored again as themselves.
func FuzzBlock(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 3, 20} {
		f.Add(appendBlock(nil, randomFixes(r, n)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fixes, err := appendFixes(nil, b)
		if err != nil {
			return
		}
		if len(fixes) > len(b) {
			t.Fatalf("%d fixes of %d bytes", len(fixes), len(b))
		}
		again, err := appendFixes(nil, appendBlock(nil, fixes))
		if err != nil || len(again) != len(fixes) {
			t.Fatal(err)
		}
		for i := range fixes {
			a, b := fixes[i], again[i]
			if math.Float64bits(a.Lon) != math.Float64bits(b.Lon) || math.Float64bits(a.Lat) != math.Float64bits(b.Lat) || a.Time != b.Time || a.Arrived != b.Arrived || a.Props != b.Props {
				t.Fatalf("fix %d is %+v, then %+v", i, a, b)
			}
		}
	})
}
