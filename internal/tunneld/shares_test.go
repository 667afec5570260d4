package tunneld

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"paddock/tunnel"
	"paddock/wire"
)

// However few files a process may open, the sum of all shares is no more than that and no share is
// empty. The link's server stays within its share with refused and held connections together.
func TestSharesAreWithinTheFiles(t *testing.T) {
	for open := 40; open < 1<<17; open += 1 + open/7 {
		s := share(tunnel.Limits{}, 0, open)
		var w wire.Server
		var l tunnel.Limits
		s.bound(&w, &l)
		if all := s.own + s.visitors.got + s.raw.got + filesDirect*s.direct.got + s.link; all > open {
			t.Errorf("%d files: %d are given away: %+v", open, all, s)
		}
		if min(s.visitors.got, s.raw.got, s.direct.got, s.link, w.MaxOpening) < 1 || w.MaxConns > w.MaxSockets || w.MaxSockets != s.link || l.Sessions != w.MaxConns || !s.fits() {
			t.Errorf("%d files: %+v, %d of the link, %d open", open, s, w.MaxConns, w.MaxOpening)
		}
		if all := len(s.cuts()) == 0; all != (open >= s.wanted()) {
			t.Errorf("%d files, %d wanted: %v", open, s.wanted(), s.cuts())
		}
	}
}

// The shares of some machines, as the guide has them.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		open                        int
		set                         tunnel.Limits
		visitors, raw, direct, link int
	}{
		{64, tunnel.Limits{}, 22, 5, 1, 11},
		{256, tunnel.Limits{}, 112, 28, 7, 42},
		{1_024, tunnel.Limits{}, 472, 118, 29, 180},
		{20_000, tunnel.Limits{}, 4_096, 2_370, 256, 10_958},
		{1 << 20, tunnel.Limits{}, 4_096, 4_096, 256, 32_768},
		{0, tunnel.Limits{}, 4_096, 4_096, 256, 32_768},
		{1_024, tunnel.Limits{Visitors: 100}, 100, 211, 52, 321},
		{1_024, tunnel.Limits{Direct: 1, RawVisitors: 1}, 681, 1, 1, 256},
		{1_024, tunnel.Limits{Visitors: 2_000}, 2_000, 1, 1, 1},
	} {
		s := share(c.set, 0, c.open)
		if s.visitors.got != c.visitors || s.raw.got != c.raw || s.direct.got != c.direct || s.link != c.link {
			t.Errorf("%d files, %+v set: %d, %d, %d, %d", c.open, c.set, s.visitors.got, s.raw.got, s.direct.got, s.link)
		}
	}
}

// The log reports lowered bounds with their cause, and warns of configured ones that leave too
// little for the rest.
func TestSharesAreTold(t *testing.T) {
	told := func(set tunnel.Limits, clients, open int) string {
		var b bytes.Buffer
		s := share(set, clients, open)
		s.tell(slog.New(slog.NewTextHandler(&b, nil)))
		return b.String()
	}
	if got := told(tunnel.Limits{}, 10, 1<<16); got != "" {
		t.Error("of what is as usual:", got)
	}
	if got := told(tunnel.Limits{Visitors: 10}, 10, 1_024); !strings.Contains(got, "raw_visitors ") || strings.Contains(got, `"visitors`) || strings.Contains(got, "level=WARN") {
		t.Error("of what was cut:", got)
	}
	for what, got := range map[string]string{
		"visitors that are set":     told(tunnel.Limits{Visitors: 900, RawVisitors: 10}, 10, 1_024),
		"clients that are listed":   told(tunnel.Limits{}, 1_000, 1_024),
		"clients that may be there": told(tunnel.Limits{Sessions: 1_000}, 0, 1_024),
	} {
		if !strings.Contains(got, "level=WARN") {
			t.Errorf("of %s: %s", what, got)
		}
	}
}
