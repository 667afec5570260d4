package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// metricsWithin bounds the time of a request for /metrics.
const metricsWithin = 10 * time.Second

// metricsClient uses a connection for one request.
var metricsClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}, Timeout: metricsWithin}

// Metrics asks a service at host:port for its metrics, and returns them by their names with labels.
func Metrics(ctx context.Context, host string) (map[string]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := metricsClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: answer %s", r.URL, answer.Status)
	}
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
