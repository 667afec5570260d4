package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The tunnel's state is returned; without a tunnel the answer explains that.
func TestTunnel(t *testing.T) {
	example := described().Paths["/v1/tunnel"]["get"].Responses["200"].Content["application/json"].Example
	var asked []any
	tw := newTown(t, options{config: func(c *Config) {
		c.Tunnel = func(find string, most int) any {
			asked = []any{find, most}
			return json.RawMessage(example)
		}
	}})
	for path, want := range map[string][]any{
		"/v1/tunnel":                     {"", 100},
		"/v1/tunnel?find=Bus%3C&limit=7": {"Bus<", 7},
	} {
		r := tw.get(path)
		if r.status != http.StatusOK || r.header.Get("Cache-Control") != "no-store" || asked[0] != want[0] || asked[1] != want[1] {
			t.Errorf("%s: %d, asked for %v", path, r.status, asked)
		}
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=x", "find=" + strings.Repeat("a", 257)} {
		if r := tw.get("/v1/tunnel?" + query); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, r.status)
		}
	}
	if r := newTown(t, options{}).get("/v1/tunnel"); r.status != http.StatusNotFound || !strings.Contains(string(r.body), "section tunnel") {
		t.Errorf("without a tunnel: %d %s", r.status, r.body)
	}
}
