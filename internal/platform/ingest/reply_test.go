package ingest

import (
	"context"
	"math"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/views"
)

func TestPositionsAtTheEdgesOfNumbers(t *testing.T) {
	dec := Decoder{Arrived: 1_773_314_205_250}
	b, err := dec.Decode([]byte(`[{"id":"a","lon":-0.00000001,"lat":-0.0},{"id":"a","lon":0,"lat":0,"t":"9999-12-31T23:59:59Z"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Positions) != 1 || math.Signbit(b.Positions[0].Lon) || math.Signbit(b.Positions[0].Lat) {
		t.Errorf("zeros with a sign: %+v", b.Positions)
	}
	if len(b.Rejected) != 1 || !strings.HasPrefix(b.Rejected[0].Reason, "t: 876600h0m0s in the future") {
		t.Errorf("rejected %+v", b.Rejected)
	}
}

// The counts include a batch once its door has its answer.
func TestCountsAreThoseOfTheAnswer(t *testing.T) {
	p := New(Config{Workers: 2, Fences: views.New(&fence.Catalog{}, nil), Publisher: &published{}})
	defer p.Close(context.Background())
	for i := range 200 {
		at := track.Millis(1_000_000_000_000)
		id := strings.Repeat("x", i+1)
		if _, err := p.Submit(t.Context(), &Batch{Positions: []track.Position{{Fleet: "f", ID: id, Time: at, Arrived: at}}}); err != nil {
			t.Fatal(err)
		}
		if n, _ := p.Counts(); n != i+1 {
			t.Fatalf("%d objects are known after %d were accepted", n, i+1)
		}
	}
}
