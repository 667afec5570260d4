package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// readyCmd is a probe for supervisors of containers, whose images hold no other program.
type readyCmd struct {
	URL      string        `arg:"" optional:"" default:"http://127.0.0.1:8080" help:"Address of the platform: http://, https:// or unix:/path of a socket (default ${default})."`
	Timeout  time.Duration `placeholder:"TIME" default:"5s" help:"How long to wait for the answer (default ${default})."`
	Insecure bool          `help:"Do not verify the certificate, which may be for another name than this one."`
}

// Help describes the exit codes.
func (*readyCmd) Help() string {
	return `It asks GET /readyz, which needs no key. The exit code is 0 for a platform that is ready, and 1 for one that is not, that does not answer, or that is not there.`
}

// Run prints the answer in one line.
func (r *readyCmd) Run(ctx context.Context, c *console) error {
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

// remote holds the flags that name a running platform.
type remote struct {
	Server string `placeholder:"URL" default:"http://127.0.0.1:8080" help:"Address of the platform."`
	Token  string `placeholder:"TOKEN" help:"A key of the platform, or its token (default $PADDOCK_HTTP_TOKEN)."`
}

// open makes a request whose answer has a status of success. A path is one of the API, whose
// elements are escaped.
func (r *remote) open(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	base, err := url.Parse(r.Server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, usagef("--server %s: not an address such as http://127.0.0.1:8080", r.Server)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.Server, "/")+"/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, usagef("--server %s: %w", r.Server, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if token := cmp.Or(r.Token, os.Getenv("PADDOCK_HTTP_TOKEN")); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: is the platform running there? --server names another address", err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // only a help
	var problem struct{ Detail string }
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		return nil, fmt.Errorf("%s: %s", res.Status, problem.Detail)
	}
	return nil, fmt.Errorf("%s: %s: %.4096s", r.Server, res.Status, bytes.TrimSpace(text))
}

// maxReply bounds an answer of JSON, in bytes.
const maxReply = 64 << 20

// ask makes a request, and decodes its answer into v; nil: it has none.
func (r *remote) ask(ctx context.Context, v any, method, path string, header http.Header, body []byte) error {
	res, err := r.open(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(v); err != nil {
		return fmt.Errorf("the answer of %s: %w", r.Server, err)
	}
	return nil
}
