package platform

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/sync/errgroup"

	"paddock/internal/process/certificate"
)

// protocols are those of HTTP over TLS.
var protocols = []string{"h2", "http/1.1"}

// openTLS reads the certificates of HTTP and wire.
func (p *Platform) openTLS(context.Context) (err error) {
	h := &p.cfg.HTTP
	switch {
	case h.Cert != "":
		if p.httpFiles, err = certificate.Open(h.Cert, h.Key); err != nil {
			return p.cfg.Fault("http.cert", err)
		}
		p.httpTLS = p.httpFiles.Config()
		p.httpTLS.NextProtos = protocols
	case h.ACME != "":
		if p.httpTLS, err = p.acme(); err != nil {
			return p.cfg.Fault("http.acme", err)
		}
	}
	if w := &p.cfg.Wire; w.Cert != "" {
		if p.wireFiles, err = certificate.Open(w.Cert, w.Key); err != nil {
			return p.cfg.Fault("wire.cert", err)
		}
	}
	return nil
}

// acme returns the configuration of a server whose certificates come from an authority (RFC 8555),
// which is shown the control of a name by TLS-ALPN-01 (RFC 8737) on the same port.
func (p *Platform) acme() (*tls.Config, error) {
	h := &p.cfg.HTTP
	if p.journal == nil {
		return nil, errors.New("a certificate needs a data directory, where it is kept")
	}
	client := &acme.Client{DirectoryURL: h.ACMEDirectory, UserAgent: "paddock/" + p.opts.Version}
	if h.ACMERoot != "" {
		pem, err := os.ReadFile(h.ACMERoot)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in PEM", h.ACMERoot)
		}
		client.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Proxy: http.ProxyFromEnvironment}}
	}
	manager := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: h.ACMEEmail, Client: client,
		HostPolicy: autocert.HostWhitelist(h.Domains()...),
		Cache:      autocert.DirCache(filepath.Join(secretsDir(p.cfg.Data.Dir), "acme")),
	}
	c := manager.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	return c, nil
}

// followCertificates reads changed files of certificates again.
func (p *Platform) followCertificates(ctx context.Context) error {
	var all errgroup.Group
	for _, f := range []*certificate.Files{p.httpFiles, p.wireFiles} {
		if f != nil {
			all.Go(func() error { return f.Run(ctx, p.log) })
		}
	}
	return all.Wait()
}

// secured returns a listener of HTTP, over TLS if there is a certificate.
func (p *Platform) secured(l net.Listener) net.Listener {
	if p.httpTLS == nil {
		return l
	}
	return tls.NewListener(l, p.httpTLS)
}
