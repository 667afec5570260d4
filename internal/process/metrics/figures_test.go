package metrics_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/process/metrics"
)

type snapshot struct {
	open int
	sent uint64
}

func TestFigures(t *testing.T) {
	taken := 0
	r := prometheus.NewRegistry()
	r.MustRegister(metrics.Figures[snapshot]{
		metrics.Gauge("paddock_open", "Open ones.", func(s *snapshot) int { return s.open }),
		metrics.Counter("paddock_sent_total", "Sent ones.", func(s *snapshot) uint64 { return s.sent }),
	}.Of(func() snapshot { taken++; return snapshot{open: 2, sent: 3} }))
	all, err := r.Gather()
	if err != nil || len(all) != 2 || taken != 1 {
		t.Fatalf("%v, %v, after %d snapshots", all, err, taken)
	}
	open, sent := all[0].GetMetric()[0].GetGauge(), all[1].GetMetric()[0].GetCounter()
	if open.GetValue() != 2 || sent.GetValue() != 3 {
		t.Errorf("%v, %v", open, sent)
	}
}
