package process

import (
	"maps"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	got := parseMetrics(`# HELP go_goroutines Number of goroutines.
go_goroutines 17
process_resident_memory_bytes 3.2e+07
paddock_tunnel_budget_bytes{kind="held"} 40
go_goroutines many
`)
	want := map[string]float64{"go_goroutines": 17, "process_resident_memory_bytes": 32e6, `paddock_tunnel_budget_bytes{kind="held"}`: 40}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
