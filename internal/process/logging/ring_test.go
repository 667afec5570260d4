package logging

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestRing keeps the last lines, each within a bound.
func TestRing(t *testing.T) {
	var r Ring
	if len(r.Lines()) != 0 {
		t.Error(r.Lines())
	}
	log := New(&r, Options{Format: Text, Level: slog.LevelInfo})
	for i := range RingLines + 10 {
		log.Info(fmt.Sprint("line ", i))
	}
	log.Info(strings.Repeat("x", 10_000))
	lines := r.Lines()
	if len(lines) != RingLines || !strings.Contains(lines[0], `"line 11"`) || !strings.Contains(lines[RingLines-2], `"line 1009"`) || len(lines[RingLines-1]) > maxRingLine+3 {
		t.Errorf("%d lines, %q ... %q", len(lines), lines[0], lines[RingLines-2])
	}
}
