package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Ready is a probe for supervisors of containers, whose images hold no other program.
type Ready struct {
	URL      string        `arg:"" optional:"" default:"http://127.0.0.1:8080" help:"Address of the platform: http://, https:// or unix:/path of a socket (default ${default})."`
	Timeout  time.Duration `placeholder:"TIME" default:"5s" help:"How long to wait for the answer (default ${default})."`
	Insecure bool          `help:"Do not verify the certificate, which may be for another name than this one."`
}

// Help describes the exit codes.
func (*Ready) Help() string {
	return `It asks GET /readyz, which needs no key. The exit code is 0 for a platform that is ready, and 1 for one that is not, that does not answer, or that is not there.`
}

// Run prints the answer in one line.
func (r *Ready) Run(ctx context.Context, c *Console) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: r.Insecure}, DisableKeepAlives: true}
	at := strings.TrimSuffix(r.URL, "/")
	if path, ok := strings.CutPrefix(at, "unix:"); ok {
		at = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	} else if base, err := url.Parse(at); err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return usagef("%s: not an address such as http://127.0.0.1:8080", r.URL)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/readyz", nil)
	if err != nil {
		return usageError{err}
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s: %.500s", r.URL, res.Status, bytes.TrimSpace(answer))
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is ready\n", r.URL)
	return err
}
