package main

import (
	"testing"
	"time"
)

// Where no event was measured, the status has no p99.
func TestStatusP99(t *testing.T) {
	if got := formatP99(0); got != "p99 -" {
		t.Error(got)
	}
	if got := formatP99(1234 * time.Microsecond); got != "p99 1.2 ms" {
		t.Error(got)
	}
}
