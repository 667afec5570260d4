package tunneled

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Levels are the levels of a side of the tunnel at a moment, from its /metrics.
type Levels struct {
	Goroutines, Descriptors, Resident float64 // bytes

	Exchanges float64 // under way: of a server requests, of a client streams too
	Streams   float64 // of a server
	Queued    float64 // of a server
	Bytes     float64 // accounted to all of these
	Backends  float64 // of a client: connections to targets that wait for work
}

// of is where a metric goes.
func (l *Levels) of(metric string) *float64 {
	switch metric {
	case "go_goroutines":
		return &l.Goroutines
	case "process_open_fds":
		return &l.Descriptors
	case "process_resident_memory_bytes":
		return &l.Resident
	case "paddock_tunnel_inflight", "paddock_tunnel_client_inflight":
		return &l.Exchanges
	case "paddock_tunnel_streams":
		return &l.Streams
	case "paddock_tunnel_queued":
		return &l.Queued
	case `paddock_tunnel_budget_bytes{kind="held"}`, "paddock_tunnel_client_bytes":
		return &l.Bytes
	case `paddock_tunnel_backend_conns{state="idle"}`:
		return &l.Backends
	}
	return nil
}

// most is the larger of each.
func (l *Levels) most(o *Levels) {
	l.Goroutines, l.Descriptors, l.Resident = max(l.Goroutines, o.Goroutines), max(l.Descriptors, o.Descriptors), max(l.Resident, o.Resident)
	l.Exchanges, l.Streams, l.Queued = max(l.Exchanges, o.Exchanges), max(l.Streams, o.Streams), max(l.Queued, o.Queued)
	l.Bytes, l.Backends = max(l.Bytes, o.Bytes), max(l.Backends, o.Backends)
}

// Sides are the levels of both.
type Sides struct{ Server, Client Levels }

// Most makes each level of s the larger one of s and o.
func (s *Sides) Most(o *Sides) {
	s.Server.most(&o.Server)
	s.Client.most(&o.Client)
}

// levelsWithin bounds the time of a request for /metrics.
const levelsWithin = 5 * time.Second

// Levels asks both sides, each over a connection that does not stay. The stand is Watched.
func (s *Stand) Levels(ctx context.Context) (both Sides, err error) {
	if both.Server, err = readLevels(ctx, s.serverAdmin); err != nil {
		return both, err
	}
	both.Client, err = readLevels(ctx, s.clientAdmin)
	return both, err
}

func readLevels(ctx context.Context, admin string) (l Levels, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: levelsWithin}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return l, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return l, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return l, fmt.Errorf("%s: %s", r.URL, answer.Status)
	}
	return l, l.parse(answer.Body)
}

// parse reads the text form of Prometheus; a metric that is not told of stays 0.
func (l *Levels) parse(text io.Reader) error {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		metric, value, _ := strings.Cut(lines.Text(), " ")
		to := l.of(metric)
		if to == nil {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", metric, err)
		}
		*to = v
	}
	return lines.Err()
}
