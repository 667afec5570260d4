package busd

import (
	"net/http"
	"time"

	"paddock/bus/monitor"
)

// monitor answers requests about the server.
func (p *Program) monitor(h Monitoring) http.Handler {
	return monitor.Handler(p.server, monitor.Options{
		Host: h.Host, Port: h.Port, TLSPort: h.TLSPort, BasePath: h.BasePath,
		Config: func() monitor.Loaded { return *p.loaded.Load() },
	})
}

// noteLoaded lets monitoring tell what holds now.
func (p *Program) noteLoaded(s *Settings) {
	p.loaded.Store(&monitor.Loaded{Time: time.Now(), Digest: s.Digest, Tags: s.Tags})
}
