package tunneld

import (
	"fmt"
	"log/slog"
	"strings"

	"paddock/tunnel"
	"paddock/wire"
)

// The most that each kind of connection comes to where there are files enough: what the
// tunnel and wire bound by themselves.
const (
	mostVisitors, mostRaw, mostDirect = 4_096, 4_096, 256
	mostClients, mostOpening          = 16_384, 1_024
	mostLink                          = 2 * mostClients // as many again wait, or come back while their old connections are still there
)

// filesDirect is how many files a visitor takes who is carried by a connection of his own.
const filesDirect = 6

// shares are what becomes of the files that a server may have open: the one place where that
// is decided. A sixteenth and some are the server's own. Of the rest half is for the visitors
// of the fronts, an eighth for those of TCP tunnels, three sixteenths for direct ones; the
// link has what is left, that is at least as much. What the settings bound is taken off
// first, and the others divide the remainder in the same proportion. Nobody gets more than
// the usual bound, and nobody nothing.
type shares struct {
	open int // files that may be open, 0 is unknown: then everything is as usual

	own, visitors, raw int // files, which are connections too
	direct             int // visitors, each of which takes filesDirect
	link               int // connections of clients, those included that open or wait for that

	clients int  // connections of clients that are expected at least
	guest   bool // the link is another one's, and so are the files of link
	set     tunnel.Limits
}

// share divides so many open files; limits are what is set, clients how many are expected.
func share(limits tunnel.Limits, clients, open int) shares {
	s := shares{open: open, set: limits, clients: max(clients, limits.Sessions), link: mostLink}
	s.own = 16 + min(open/16, 1_024)
	left, weights := open-s.own, 3
	parts := []struct {
		got              *int
		set, most        int
		each, proportion int
	}{
		{&s.visitors, limits.Visitors, mostVisitors, 1, 8},
		{&s.raw, limits.RawVisitors, mostRaw, 1, 2},
		{&s.direct, limits.Direct, mostDirect, filesDirect, 3},
	}
	for _, p := range parts {
		if p.set > 0 {
			*p.got = p.set
			left -= p.set * p.each
		} else {
			weights += p.proportion
		}
	}
	rest := left
	for _, p := range parts {
		if p.set > 0 {
			continue
		}
		if *p.got = p.most; open > 0 {
			*p.got = min(max(left*p.proportion/weights/p.each, 1), p.most)
		}
		rest -= *p.got * p.each
	}
	if open > 0 {
		s.link = min(max(rest, 1), mostLink)
	}
	return s
}

// wanted are the files with which nothing would have to be less than is usual, or set.
func (s *shares) wanted() int {
	usual := share(s.set, 0, 0)
	others := usual.visitors + usual.raw + filesDirect*usual.direct + usual.link
	return others + 16 + min((others+16)/15+1, 1_024)
}

// fits says whether the link has room for the clients that are expected, and at least for an
// eighth of all: what is set for visitors may leave less.
func (s *shares) fits() bool {
	return s.open == 0 || s.guest || s.link >= max(s.clients, (s.open-s.own)/8)
}

// limit makes limits fit that nobody has set.
func (s *shares) limit(l *tunnel.Limits) {
	l.Visitors, l.RawVisitors, l.Direct = s.visitors, s.raw, s.direct
}

// bound makes the bounds of the link's server fit, and with them how many clients there are.
// Those who open have a quarter, so that clients do not wait for strangers.
func (s *shares) bound(w *wire.Server, l *tunnel.Limits) {
	w.MaxConns, w.MaxSockets = min(s.link, mostClients), s.link
	if l.Sessions == 0 {
		l.Sessions = w.MaxConns
	}
	w.MaxOpening = min(max(s.link/4, 1), mostOpening)
}

// cuts are the bounds that are lower than is usual, each with the usual one.
func (s *shares) cuts() (cuts []string) {
	for _, b := range []struct {
		what            string
		set, got, usual int
	}{
		{"visitors", s.set.Visitors, s.visitors, mostVisitors},
		{"raw_visitors", s.set.RawVisitors, s.raw, mostRaw},
		{"direct", s.set.Direct, s.direct, mostDirect},
		{"connections of clients", 0, s.link, mostLink},
	} {
		if s.guest && b.usual == mostLink {
			continue
		}
		if b.set == 0 && b.got < b.usual {
			cuts = append(cuts, fmt.Sprintf("%s %d instead of %d", b.what, b.got, b.usual))
		}
	}
	return cuts
}

// tell writes to the log what was cut, and what does not fit.
func (s *shares) tell(log *slog.Logger) {
	if cuts := s.cuts(); len(cuts) > 0 {
		log.Info("bounds are lower than usual, since this process may open few files", "may_open", s.open, "enough", s.wanted(),
			"bounds", strings.Join(cuts, ", "), "remedy", "ulimit -n, or LimitNOFILE of systemd")
	}
	if !s.fits() {
		log.Warn("too few files are left to clients: lower the limits of visitors, or raise what this process may open",
			"may_open", s.open, "left", s.link, "clients", s.clients, "visitors", s.visitors, "raw_visitors", s.raw, "direct", s.direct)
	}
}
