package platform

import (
	"testing"

	"paddock/internal/process/config"
)

func TestShareFiles(t *testing.T) {
	for _, c := range []struct {
		open, http, bus, wire int // 0: unknown
		want                  [3]int
	}{
		{0, 65_536, 65_536, 16_384, [3]int{65_536, 65_536, 16_384}},
		{1 << 20, 65_536, 65_536, 16_384, [3]int{65_536, 65_536, 16_384}},
		{1_024, 65_536, 65_536, 16_384, [3]int{448, 224, 224}},
		{1_024, 100, 65_536, 16_384, [3]int{100, 398, 398}},
		{1_024, 65_536, 10, 20, [3]int{866, 10, 20}},
		{328, 100, 50, 50, [3]int{100, 50, 50}},
		{64, 65_536, 65_536, 16_384, [3]int{1, 1, 1}},
	} {
		cfg := config.Default()
		cfg.Limits.Connections, cfg.Bus.MaxConnections, cfg.Wire.MaxConnections = c.http, c.bus, c.wire
		before := [3]int{c.http, c.bus, c.wire}
		lowered := shareFiles(cfg, c.open)
		if got := [3]int{cfg.Limits.Connections, cfg.Bus.MaxConnections, cfg.Wire.MaxConnections}; got != c.want || lowered != (got != before) {
			t.Errorf("%d files, %v: %v, %t; want %v", c.open, before, got, lowered, c.want)
		}
	}
}
