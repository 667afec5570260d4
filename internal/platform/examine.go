package platform

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"

	"paddock/bus"
	"paddock/fence/track"
	"paddock/internal/busd"
	"paddock/internal/platform/doctor"
	"paddock/internal/process/certificate"
	"paddock/internal/process/config"
)

// openExamination gathers what an examination looks at, once everything has started.
func (p *Platform) openExamination(context.Context) error {
	f := &doctor.Facts{
		Version: p.opts.Version, Pipeline: p.pipeline, Events: p.events, Catalog: p.catalog, Doors: &p.doors, Bus: p.bus,
		Trend: &p.trend, Flaps: p.flaps, Syncs: &p.syncs,
		Policy: func(set string) *track.Policy {
			policy, _, _ := p.book.State().Policy(set)
			return policy
		},
		BusPending: func() int64 { return cmp.Or(p.busSettings().MaxPending, bus.DefaultMaxPending) },
		Data:       p.cfg.Data.Dir, MinFree: int64(p.cfg.Journal.MinFree), Files: p.files,
		Journal: p.journal, History: p.history, Hooks: p.hooks, Sinks: p.sinks, Sources: p.sources, Bridges: p.bridges.States, SetFiles: p.setFiles(),
		Cluster: p.clusterStatus(), Certificates: p.certificates, Addresses: p.addresses(),
	}
	if p.tunnel != nil {
		f.Tunnel, f.Overloads = p.tunnelFigures, p.tunnel.Overloads
	}
	p.examined.Store(f)
	return nil
}

// busSettings returns the present settings of the bus.
func (p *Platform) busSettings() bus.Config {
	p.busNow.mu.Lock()
	defer p.busNow.mu.Unlock()
	_, b, _ := p.busConfig(p.busNow.config, p.busNow.file) // they have been checked
	return b
}

// addresses returns where clients reach the interfaces.
func (p *Platform) addresses() map[string]string {
	all := map[string]string{"http": p.URL(), "bus": p.BusURL(), "wire": hostOf("wire", p.WireAddr())}
	if at := p.VisitorsAddr(); at != nil {
		all["visitors"] = hostOf("http", at)
	}
	return all
}

func hostOf(scheme string, at net.Addr) string {
	if at.Network() == "unix" {
		return "unix:" + at.String()
	}
	return scheme + "://" + at.String()
}

// certificates returns the certificates of files, with those of the section bus.
func (p *Platform) certificates() (all []doctor.Certificate) {
	for _, c := range []struct {
		of, file string
		files    *certificate.Files
	}{{"http.cert", p.cfg.HTTP.Cert, p.httpFiles}, {"wire.cert", p.cfg.Wire.Cert, p.wireFiles}} {
		if c.files == nil {
			continue
		}
		leaf, _ := c.files.Certificate(nil) // it never fails
		all = append(all, doctor.Certificate{Of: c.of, File: c.file, Ends: leaf.Leaf.NotAfter})
	}
	return append(all, busCertificates(p.busSettings())...)
}

// BusCertificates returns the certificates of the section bus, which CheckBus has accepted.
func BusCertificates(cfg *config.Config, file *busd.Settings) []doctor.Certificate {
	s, err := busSettings(cfg, file, cfg.Keyed())
	if err != nil {
		return nil
	}
	return busCertificates(s.Bus)
}

func busCertificates(b bus.Config) (all []doctor.Certificate) {
	if b.TLS == nil || b.TLS.Config == nil {
		return nil
	}
	for i := range b.TLS.Config.Certificates {
		if leaf := leafOf(&b.TLS.Config.Certificates[i]); leaf != nil {
			all = append(all, doctor.Certificate{Of: "bus.tls", File: leaf.Subject.String(), Ends: leaf.NotAfter, OnHangup: true})
		}
	}
	return all
}

// leafOf returns the certificate of a chain, or nil.
func leafOf(c *tls.Certificate) *x509.Certificate {
	if c.Leaf != nil || len(c.Certificate) == 0 {
		return c.Leaf
	}
	leaf, _ := x509.ParseCertificate(c.Certificate[0]) // nil: it would not be served
	return leaf
}

// tunnelFigures returns the state of the tunnel's server.
func (p *Platform) tunnelFigures() doctor.Tunnel {
	o := p.tunnel.Overview("", 0)
	return doctor.Tunnel{
		Sessions: o.Figures.Sessions, SessionsLimit: o.Figures.SessionsLimit, Away: o.Figures.Away,
		Requests: o.Figures.Requests, RequestsLimit: o.Figures.RequestsLimit,
	}
}

// followTrend takes readings for the examination.
func (p *Platform) followTrend(ctx context.Context) error {
	p.trend.Run(ctx, p.examined.Load().Count, func() (int64, bool) {
		if p.journal == nil {
			return 0, false
		}
		_, free, err := p.journal.Usage()
		return int64(free), err == nil
	})
	return nil
}
