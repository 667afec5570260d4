// Package webhook delivers events to HTTP endpoints of other programs.
//
// A request is signed as Standard Webhooks 1.0 says (https://www.standardwebhooks.com): the header
// webhook-signature has the base64 of the HMAC-SHA256 of the id, the time and the body under each
// secret. Addresses of private networks are refused unless the operator allows them, which is
// judged on the address that is dialled.
package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"paddock/fence/track/rule"
	"paddock/internal/platform/deliver"
	"paddock/internal/process/config"
	"paddock/internal/process/spelling"
)

// The forms of a request's body.
const (
	CloudEvents = "cloudevents"       // one event
	Batch       = "cloudevents-batch" // a list of events
	Tile38      = "tile38"            // one notification
	Slack       = "slack"             // one readable line
)

var formats = []string{CloudEvents, Batch, Tile38, Slack}

// The bounds of an endpoint.
const (
	MaxEndpoints = 1000
	maxBatch     = 1000 // events in one request
	batchDefault = 100
	maxURL       = 2048
	maxSecrets   = 2
	maxHeaders   = 16
	maxHeader    = 4096 // bytes of a name and its value
)

// Hidden is shown in place of a secret. In a change it stands for the secret that is there.
const Hidden = config.Secret("[hidden]")

// Endpoint is a webhook. Its secrets are never encoded.
type Endpoint struct {
	ID  string `json:"id"`
	URL string `json:"url"` // see Shown
	deliver.Selection
	Format   string                   `json:"format"`
	MaxBatch int                      `json:"max_batch,omitempty"` // with Batch
	Headers  map[string]config.Secret `json:"headers,omitempty"`   // by canonical names
	Secrets  []config.Secret          `json:"secrets,omitempty"`   // the first signs first
	Enabled  bool                     `json:"enabled"`
}

// Faults are the faults of an endpoint, each with its field.
type Faults []error

func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

func (f *Faults) add(field string, err error) { *f = append(*f, fmt.Errorf("%s: %w", field, err)) }

// err returns the faults as an error, or nil if there are none.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Check fills in defaults, and calls fault for each fault of the endpoint, with its field.
func (e *Endpoint) Check(fault func(field string, err error)) {
	if err := rule.CheckID(e.ID); err != nil {
		fault("id", err)
	}
	if err := checkURL(e.URL); err != nil {
		fault("url", err)
	}
	e.Selection.Check(fault)
	e.Format = cmp.Or(e.Format, CloudEvents)
	if !slices.Contains(formats, e.Format) {
		fault("format", fmt.Errorf("%.64q is no format; %s", e.Format, spelling.Advice(e.Format, formats)))
	}
	switch {
	case e.Format != Batch && e.MaxBatch != 0:
		fault("max_batch", errors.New("only the format cloudevents-batch has several events in a request"))
	case e.Format == Batch && e.MaxBatch == 0:
		e.MaxBatch = batchDefault
	case e.MaxBatch < 0 || e.MaxBatch > maxBatch:
		fault("max_batch", fmt.Errorf("%d: 1 to %d events", e.MaxBatch, maxBatch))
	}
	e.checkHeaders(fault)
	if len(e.Secrets) > maxSecrets {
		fault("secrets", fmt.Errorf("%d secrets: one, or two while it is changed", len(e.Secrets)))
	}
	for i, s := range e.Secrets {
		if s == Hidden {
			continue // see Resolve
		}
		if _, err := ParseSecret(string(s)); err != nil {
			fault(fmt.Sprintf("secrets[%d]", i), err)
		}
	}
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("missing")
	case len(text) > maxURL:
		return fmt.Errorf("%d bytes, the limit is %d", len(text), maxURL)
	case err != nil:
		return errors.New("it is not a URL")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("want https://host/path, or http")
	case u.User != nil:
		return errors.New("a name or password in it would be shown: use a header")
	case u.Fragment != "":
		return errors.New("a fragment is not sent")
	}
	return nil
}

// ownHeaders are set by the request itself.
var ownHeaders = []string{
	"Connection", "Content-Length", "Content-Type", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent", "Paddock-Replay",
}

func (e *Endpoint) checkHeaders(fault func(field string, err error)) {
	if len(e.Headers) > maxHeaders {
		fault("headers", fmt.Errorf("%d headers, the limit is %d", len(e.Headers), maxHeaders))
		return
	}
	canonical := map[string]config.Secret{}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		value, key := e.Headers[name], http.CanonicalHeaderKey(name)
		var err error
		switch _, twice := canonical[key]; {
		case twice:
			err = errors.New("it stands twice")
		case !httpguts.ValidHeaderFieldName(name):
			err = errors.New("not the name of a header")
		case slices.Contains(ownHeaders, key) || strings.HasPrefix(key, "Webhook-"):
			err = errors.New("the request sets it itself")
		case !httpguts.ValidHeaderFieldValue(string(value)):
			err = errors.New("its value has a control character")
		case len(name)+len(value) > maxHeader:
			err = fmt.Errorf("%d bytes, the limit is %d", len(name)+len(value), maxHeader)
		}
		if err != nil {
			fault(fmt.Sprintf("headers.%.64s", name), err)
		}
		canonical[key] = value
	}
	if e.Headers != nil {
		e.Headers = canonical
	}
}

// Literal returns the address in the URL, if it has one in place of a name.
func (e *Endpoint) Literal() (netip.Addr, bool) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return addr, err == nil
}

// Shown returns the endpoint as it may be seen and stored: with [hidden] in place of secrets and
// values of headers. The path of a URL for Slack is a secret too.
func (e *Endpoint) Shown() *Endpoint {
	shown := *e
	shown.Secrets, shown.Headers = slices.Clone(e.Secrets), maps.Clone(e.Headers)
	for i := range shown.Secrets {
		shown.Secrets[i] = Hidden
	}
	for name := range shown.Headers {
		shown.Headers[name] = Hidden
	}
	if u, err := url.Parse(e.URL); err == nil && e.Format == Slack {
		shown.URL = u.Scheme + "://" + u.Host + "/" + string(Hidden)
	}
	return &shown
}

// Hides reports whether something stands for a secret.
func (e *Endpoint) Hides() bool {
	return slices.Contains(e.Secrets, Hidden) || slices.Contains(slices.Collect(maps.Values(e.Headers)), Hidden) ||
		strings.HasSuffix(e.URL, "/"+string(Hidden))
}

// Resolve replaces each [hidden] by the secret of the old endpoint for which it stands: of several
// the first stands for the first one. old may be nil. It calls fault where there is none, and for
// the value of a header that another server would get: it may be a password.
func (e *Endpoint) Resolve(old *Endpoint, fault func(field string, err error)) {
	none := errors.New("[hidden] stands for what is there, and nothing is: give it")
	if old == nil {
		old = &Endpoint{}
	}
	kept := old.Secrets
	for i, s := range e.Secrets {
		if s != Hidden {
			continue
		}
		if len(kept) == 0 {
			fault(fmt.Sprintf("secrets[%d]", i), none)
			break
		}
		e.Secrets[i], kept = kept[0], kept[1:]
	}
	for name, value := range e.Headers {
		if value == Hidden {
			switch {
			case old.Headers[name] == "":
				fault("headers."+name, none)
			case old.URL != "" && origin(e.URL) != origin(old.URL):
				fault("headers."+name, fmt.Errorf("[hidden] stands for a value that %s gets, and not another server: give it", origin(old.URL)))
			}
			e.Headers[name] = old.Headers[name]
		}
	}
	if strings.HasSuffix(e.URL, "/"+string(Hidden)) {
		if old.URL != "" && e.URL == old.Shown().URL && e.Format == Slack { // another form would show it
			e.URL = old.URL
			return
		}
		fault("url", none)
		e.URL = ""
	}
}

// origin returns the scheme, host and port of a URL.
func origin(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}
