package fold

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// BenchmarkPairs measures a position of a vehicle in a city of 10 by 10 km with 10,000 of them,
// with and without a rule about vehicles within 50 m of each other. A record has 1,000 positions.
func BenchmarkPairs(b *testing.B) {
	for name, text := range map[string]string{
		"near":    `{"id":"r","near":{"metres":50}}`,
		"nothing": `{"id":"r","set":"none"}`,
	} {
		b.Run(name, func(b *testing.B) {
			r, err := rule.Parse([]byte(text))
			if err != nil {
				b.Fatal(err)
			}
			rules, err := rule.NewTable([]*rule.Rule{r})
			if err != nil {
				b.Fatal(err)
			}
			p, s, view := NewPartition(track.Options{}), NewSecond(), &track.View{Rules: rules}
			p.SetView(view, begin)
			random := rand.New(rand.NewPCG(1, 1))
			fixes := make([]track.Position, 10_000)
			for i := range fixes {
				fixes[i] = track.Position{Fleet: "f", ID: fmt.Sprint("v", i), Lon: 13.4 + 0.147*random.Float64(), Lat: 52.5 + 0.09*random.Float64(), Time: begin}
			}
			events := 0
			round := func(n int) {
				for range n {
					f := &fixes[random.IntN(len(fixes))]
					f.Lon, f.Lat, f.Time = f.Lon+0.0004*(random.Float64()-0.5), f.Lat+0.0002*(random.Float64()-0.5), f.Time+1000
					p.Shard.Apply(f, nil)
				}
				s.Take(p)
				told, _ := s.End(Round{Number: 1, At: begin, View: view}, nil)
				events += len(told)
			}
			round(50_000)
			events = 0
			b.ReportAllocs()
			b.ResetTimer()
			for n := b.N; n > 0; n -= 1000 {
				round(min(n, 1000))
			}
			b.ReportMetric(float64(events)/float64(b.N), "events/fix")
		})
	}
}
