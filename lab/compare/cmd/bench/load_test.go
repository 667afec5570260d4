package main

import (
	"strings"
	"testing"
)

// Ours is measured by itself where no other program is installed. A line names each contender that
// is left out.
func TestLoadAlone(t *testing.T) {
	needsPrograms(t)
	r, out := result(t, "load", "--only", "get-free,get-nginx")
	contains(t, out, "not here, and left out: no-wrk, no-ab, no-hey, no-oha, no-nginx", "cannot: no no-wrk here", "cannot: no no-nginx here")
	if _, ok := r.Samples[0].Metrics["client_user_us_per_op"]; !ok || strings.Contains(out, "failed") {
		t.Errorf("%v\n%s", r.Samples[0].Metrics, out)
	}
}
