package gofence_test

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"paddock/lab/internal/gofence"
)

// A call is as wide as its share, stands below its caller, and is left out below a thousandth.
func TestFlames(t *testing.T) {
	at := func(name string) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
	}
	main, hot, cold, rare := at("main.main"), at("a/b.Hot"), at("runtime.cold"), at("a/b.<rare>")
	sample := func(ns int64, leaf *profile.Location) *profile.Sample {
		return &profile.Sample{Location: []*profile.Location{leaf, main}, Value: []int64{1, ns}}
	}
	p := &profile.Profile{Sample: []*profile.Sample{sample(600_000, hot), sample(300_000, hot), sample(99_900, cold), sample(100, rare)}}
	var b strings.Builder
	report := &gofence.ProfileReport{Columns: []string{"x"}}
	if err := gofence.WriteFlames(&b, report, []gofence.Flame{{Name: "brute", Profile: p}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<h2>brute</h2>`,
		`<title>main.main: 100.0 %, 1.00ms</title><rect x="0.0" y="18.0" width="1200.0"`,
		`<title>a/b.Hot: 90.0 %, 900µs</title><rect x="0.0" y="36.0" width="1080.0"`,
		`<g class="r"><title>runtime.cold: 10.0 %, 99.9µs</title><rect x="1080.0" y="36.0"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "rare") {
		t.Error("a call of a ten-thousandth is drawn")
	}
}
