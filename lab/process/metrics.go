package process

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// metricsWithin bounds the time of a request for /metrics.
const metricsWithin = 10 * time.Second

// Metrics asks a service at host:port for its metrics, and returns them by their names with labels.
func Metrics(ctx context.Context, host string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsWithin)
	defer cancel()
	_, text, err := Ask(ctx, http.MethodGet, "http://"+host+"/metrics", nil, nil)
	return parseMetrics(string(text)), err
}

// parseMetrics reads the text form of Prometheus. Lines that are none of a metric's count for
// nothing.
func parseMetrics(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64); err == nil {
			all[line[:at]] = v
		}
	}
	return all
}
