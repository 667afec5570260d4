package tunneld

import (
	"fmt"
	"log/slog"
	"strings"

	"paddock/tunnel"
	"paddock/wire"
)

// The usual bound of each kind of connection, which applies if enough files can be opened. The
// tunnel and wire have the same defaults.
const (
	mostVisitors, mostRaw, mostDirect = 4_096, 4_096, 256
	mostClients, mostOpening          = 16_384, 1_024
	mostLink                          = 2 * mostClients // as many again wait, or come back while their old connections are still there
)

// filesDirect is the number of files that a visitor with a direct channel takes.
const filesDirect = 6

// shares divides the files that a server may open between the kinds of connections; no other place
// decides on it. A sixteenth and some are the server's own. Of the rest half is for visitors of the
// fronts, an eighth for those of TCP tunnels, three sixteenths for direct ones; the remainder, at
// least as much, is for the link. Configured bounds are subtracted first, and the others divide the
// rest in the same proportion. No share exceeds the usual bound, and no share is zero.
type shares struct {
	open int // files that may be open, 0 is unknown: then everything is as usual

	own, visitors, raw int // files, which are connections too
	direct             int // visitors, each of which takes filesDirect
	link               int // connections of clients, those included that open or wait for that

	clients int  // connections of clients that are expected at least
	guest   bool // the link is another one's, and so are the files of link
	set     tunnel.Limits
}

// share divides this many open files. limits are the configured ones, clients is the expected
// number of clients.
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

// fits reports whether the link has files for the expected clients, and for at least an eighth of
// all: configured limits of visitors may leave less.
func (s *shares) fits() bool {
	return s.open == 0 || s.guest || s.link >= max(s.clients, (s.open-s.own)/8)
}

// limit lowers the limits that are not configured to their shares.
func (s *shares) limit(l *tunnel.Limits) {
	l.Visitors, l.RawVisitors, l.Direct = s.visitors, s.raw, s.direct
}

// bound lowers the bounds of the link's server to its share, and with them the number of clients.
// Handshakes get a quarter, so that clients do not wait for strangers.
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

// tell logs the bounds that were lowered, and the ones that do not fit.
func (s *shares) tell(log *slog.Logger) {
	if cuts := s.cuts(); len(cuts) > 0 {
		log.Info("bounds are lower than usual, since this process may open few files", "may_open", s.open, "enough", s.wanted(),
			"bounds", strings.Join(cuts, ", "), "remedy", "ulimit -n, or LimitNOFILE of systemd")
	}
	if !s.fits() {
		log.Warn("too few files are left to clients: lower the limits of visitors, or raise this process's limit of open files",
			"may_open", s.open, "left", s.link, "clients", s.clients, "visitors", s.visitors, "raw_visitors", s.raw, "direct", s.direct)
	}
}
