package main

import (
	"context"
	"fmt"
	"time"

	"paddock/internal/platform"
	"paddock/internal/process/terminal"
)

// formatP99 writes the p99 of events; 0 means that there was none.
func formatP99(d time.Duration) string {
	if d == 0 {
		return "p99 -"
	}
	return fmt.Sprintf("p99 %.1f ms", float64(d.Microseconds())/1000)
}

// showStatus shows the platform's figures each second until ctx ends.
func showStatus(ctx context.Context, s *terminal.StatusLine, p *platform.Platform) error {
	if !s.Visible() {
		return nil
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer s.Show("")
	before, since := p.Totals(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			t, per := p.Totals(), now.Sub(since).Seconds()
			line := fmt.Sprintf("%7.0f positions/s  %6.0f events/s  %7d objects  %s",
				float64(t.Accepted-before.Accepted)/per, float64(t.Events-before.Events)/per, p.Objects(), formatP99(t.EventP99))
			if bad := t.Rejected + t.Overloaded + t.Full - before.Rejected - before.Overloaded - before.Full; bad > 0 {
				line += fmt.Sprintf("  %.0f refused/s", float64(bad)/per)
			}
			s.Show(line)
			before, since = t, now
		}
	}
}
