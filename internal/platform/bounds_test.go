package platform_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/internal/process/config"
)

// At limits.connections no connection is accepted. A waiting request is answered once another
// connection ends, and the metrics count it.
func TestConnectionsAreBounded(t *testing.T) {
	cfg := config.Default()
	cfg.Limits.Connections = 2
	r := start(t, cfg, new(fence.Catalog))
	address := strings.TrimSuffix(strings.TrimPrefix(r.URL(), "http://"), "/")
	var idle []net.Conn
	for range 2 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	answered := make(chan string, 1)
	go func() { // ends with the answer, at the latest after patience
		status, metrics, err := r.call(http.MethodGet, "metrics", "", nil)
		if err != nil || status != http.StatusOK {
			answered <- fmt.Sprint(status, err)
			return
		}
		answered <- string(metrics)
	}()
	if err := idle[0].Close(); err != nil {
		t.Fatal(err)
	}
	metrics := <-answered
	for _, line := range []string{
		"paddock_http_connections 2", "paddock_http_large_refused_total 0", "paddock_http_short_requests_total 0", "paddock_http_handed_over_total 1", "paddock_live_clients 0",
		"paddock_live_refused_total 0", "paddock_sets 0", "paddock_sets_refused_total 0", "paddock_bus_closed_total{reason=\"Maximum Connections Exceeded\"} 0",
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(metrics, "\npaddock_http_connection_waits_total 0\n") {
		t.Error("no wait was counted")
	}
}
