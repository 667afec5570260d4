package server

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// BenchmarkSmallBeside measures a small request alone, and beside eight bulk answers and one that
// is not read: the fairness of the link is the ratio of the two.
//
//	go test ./tunnel/server -run '^$' -bench SmallBeside -benchtime 3000x
func BenchmarkSmallBeside(b *testing.B) {
	for _, readers := range []int{0, 8} {
		b.Run(map[int]string{0: "nothing", 8: "bulk"}[readers], func(b *testing.B) {
			load := newBeside(newPair(b, &Server{}))
			if readers > 0 {
				load.begin(readers)
				load.Eventually("not everyone has begun", func() bool { return load.everyone(make([]int64, readers), 8<<20) })
			}
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				res, err := load.HTTP.Do(load.Request(http.MethodGet, "example.com", "/small", nil))
				if err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(res, err)
				}
				_ = res.Body.Close()
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			close(load.stop)
			load.wg.Wait()
		})
	}
}
