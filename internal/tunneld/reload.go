package tunneld

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"time"

	"paddock/wire"
)

// watchEvery is how often it is looked whether the file has changed.
const watchEvery = time.Second

// watch reads the settings again when their file has changed, or a signal says so.
func (s *Server) watch(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	seen := stamp(s.options.File)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.options.Hangups:
			seen = stamp(s.options.File)
			s.reload()
		case <-ticker.C:
			if now := stamp(s.options.File); now != seen {
				seen = now
				s.reload()
			}
		}
	}
}

// version tells one state of a file from the next.
type version struct {
	changed time.Time
	size    int64
	mode    fs.FileMode
}

func stamp(file string) version {
	info, err := os.Stat(file)
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size(), info.Mode()}
}

// reload lets new settings count, or keeps the old ones if anything is wrong with them.
// Clients that would not be let in any more are sent away; addresses take a restart.
func (s *Server) reload() {
	if s.options.Reload == nil {
		return
	}
	settings, err := s.options.Reload()
	if err == nil {
		err = s.readCertificate(&settings.Serve)
	}
	if err != nil {
		s.log.Error("the settings stay as they are", "error", err)
		return
	}
	if !sameServe(settings.Serve, s.options.Settings.Serve) {
		s.log.Warn("the section serve has changed: that takes a restart")
	}
	s.roster.Replace(settings.Clients)
	gone := 0
	for c := range s.wire.All() {
		if c.Identity() != nil && !s.roster.Holds(c) {
			c.Abort(wire.PermissionDenied)
			gone++
		}
	}
	s.log.Info("settings read again", "clients", len(settings.Clients), "sent_away", gone)
}

func sameServe(a, b Serve) bool {
	same := slices.Equal(a.Trusted, b.Trusted)
	return same && a.Listen == b.Listen && a.HTTP == b.HTTP && a.TLS == b.TLS && a.Cert == b.Cert && a.Key == b.Key &&
		a.Budget == b.Budget && a.Lease == b.Lease && a.Identity == b.Identity && a.Control == b.Control &&
		a.Admin == b.Admin && a.Token == b.Token && a.Plaintext == b.Plaintext
}
