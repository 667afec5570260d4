package tunneld

import (
	"cmp"
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

	own                   int // files
	visitors, raw, direct part
	link                  int // connections of clients, those included that open or wait for that

	clients int  // connections of clients that are expected at least
	guest   bool // the link is another one's, and so are the files of link
}

// part is the share of one kind of visitors.
type part struct {
	name             string
	got, set, usual  int // visitors; set is 0 if the bound is not configured
	each, proportion int // files of one visitor, and sixteenths of what there is
}

func (s *shares) parts() []*part { return []*part{&s.visitors, &s.raw, &s.direct} }

// share divides this many open files. limits are the configured ones, clients is the expected
// number of clients.
func share(limits tunnel.Limits, clients, open int) shares {
	s := shares{
		open: open, own: 16 + min(open/16, 1_024), clients: max(clients, limits.Sessions), link: mostLink,
		visitors: part{name: "visitors", set: limits.Visitors, usual: mostVisitors, each: 1, proportion: 8},
		raw:      part{name: "raw_visitors", set: limits.RawVisitors, usual: mostRaw, each: 1, proportion: 2},
		direct:   part{name: "direct", set: limits.Direct, usual: mostDirect, each: filesDirect, proportion: 3},
	}
	left, weights := open-s.own, 3
	for _, p := range s.parts() {
		if p.got = p.set; p.set > 0 {
			left -= p.set * p.each
		} else {
			weights += p.proportion
		}
	}
	rest := left
	for _, p := range s.parts() {
		if p.set > 0 {
			continue
		}
		if p.got = p.usual; open > 0 {
			p.got = min(max(left*p.proportion/weights/p.each, 1), p.usual)
		}
		rest -= p.got * p.each
	}
	if open > 0 {
		s.link = min(max(rest, 1), mostLink)
	}
	return s
}

// wanted are the files with which nothing would have to be less than is usual, or set.
func (s *shares) wanted() int {
	others := mostLink
	for _, p := range s.parts() {
		others += cmp.Or(p.set, p.usual) * p.each
	}
	return others + 16 + min((others+16)/15+1, 1_024)
}

// fits reports whether the link has files for the expected clients, and for at least an eighth of
// all: configured limits of visitors may leave less.
func (s *shares) fits() bool {
	return s.open == 0 || s.guest || s.link >= max(s.clients, (s.open-s.own)/8)
}

// limit lowers the limits that are not configured to their shares.
func (s *shares) limit(l *tunnel.Limits) {
	l.Visitors, l.RawVisitors, l.Direct = s.visitors.got, s.raw.got, s.direct.got
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
	for _, p := range s.parts() {
		if p.got < p.usual && p.set == 0 {
			cuts = append(cuts, fmt.Sprintf("%s %d instead of %d", p.name, p.got, p.usual))
		}
	}
	if s.link < mostLink && !s.guest {
		cuts = append(cuts, fmt.Sprintf("connections of clients %d instead of %d", s.link, mostLink))
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
			"may_open", s.open, "left", s.link, "clients", s.clients, "visitors", s.visitors.got, "raw_visitors", s.raw.got, "direct", s.direct.got)
	}
}
