package httpapi

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
)

// BenchmarkSearchColumns sends 100,000 points in columns over loopback, one request after the
// other, with client and server on the same processors. The floor sends the same body to a server
// that reads it and returns an answer of the same size.
func BenchmarkSearchColumns(b *testing.B) {
	const n, side = 100_000, 64
	set, err := fence.NewSet("grid", fence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	all := &geojson.Collection{}
	for i := range side * side {
		x, y := float64(i%side), float64(i/side)
		all.Fences = append(all.Fences, square("", x, y, x+1, y+1))
	}
	if _, err := set.Replace(all); err != nil {
		b.Fatal(err)
	}
	catalog := &fence.Catalog{}
	if err := catalog.Add(set); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var at []float64
	for range 2 * n {
		at = append(at, rng.Float64()*side)
	}
	body := columns(at...)
	floor := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 12+4*(n+1)+4*n))
	}
	for name, h := range map[string]http.Handler{"search": New(Config{Catalog: catalog}), "floor": http.HandlerFunc(floor)} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(h)
			defer server.Close()
			for b.Loop() {
				resp, err := server.Client().Post(server.URL+"/v1/search?set=grid", pointColumns, strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				got, err := io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || got != 12+4*(n+1)+4*n {
					b.Fatal(err, resp.Status, got)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
}
