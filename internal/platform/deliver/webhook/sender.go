package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"paddock/internal/platform/deliver"
)

const (
	// timeout bounds an attempt: from the look-up of the name to the end of the answer.
	timeout = 10 * time.Second
	// maxAnswer bounds what is read of an answer's body, and maxAnswerHeader its head, in bytes.
	maxAnswer       = 16 << 10
	maxAnswerHeader = 64 << 10
	// quoted is the part of an answer's body that is kept as the reason of a failure, in bytes.
	quoted = 160
	// idleConnections bounds the connections of all endpoints that are kept between requests.
	idleConnections = 256
)

// Client makes requests to endpoints.
type Client struct {
	http    atomic.Pointer[http.Client]
	agent   string
	timeout time.Duration
}

// NewClient returns a client that dials the addresses of a network alone, takes no proxy of the
// environment, and follows no redirect. roots nil are those of the system.
func NewClient(n *Network, roots *x509.CertPool, version string) *Client {
	c := &Client{agent: "paddock/" + version, timeout: timeout}
	c.http.Store(newHTTP(n, roots))
	return c
}

func newHTTP(n *Network, roots *x509.CertPool) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            n.dialer().DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: timeout, PingTimeout: timeout}, // finds a dead connection
			DisableCompression:     true,
			MaxIdleConns:           idleConnections,
			MaxIdleConnsPerHost:    4,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    timeout,
			MaxResponseHeaderBytes: maxAnswerHeader,
		},
	}
}

// Replace makes the next requests dial another network with other roots, over connections of their
// own. Requests under way go on.
func (c *Client) Replace(n *Network, roots *x509.CertPool) {
	c.http.Swap(newHTTP(n, roots)).CloseIdleConnections()
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.Load().CloseIdleConnections() }

// Sender is an endpoint as the end of a follower.
type Sender struct {
	client  *Client
	e       *Endpoint
	secrets []Secret
}

// NewSender returns the end of an endpoint that has no fault.
func NewSender(c *Client, e *Endpoint) *Sender {
	s := &Sender{client: c, e: e}
	for _, text := range e.Secrets {
		if secret, err := ParseSecret(string(text)); err == nil {
			s.secrets = append(s.secrets, secret)
		}
	}
	return s
}

// Close implements [deliver.End]. The connections belong to the client.
func (s *Sender) Close() {}

// Send implements [deliver.End].
func (s *Sender) Send(ctx context.Context, b *deliver.Batch) deliver.Result {
	ctx, cancel := context.WithTimeout(ctx, s.client.timeout)
	defer cancel()
	r, err := s.request(ctx, b)
	if err != nil {
		return deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
	}
	answer, err := s.client.http.Load().Do(r)
	if err != nil {
		return deliver.Result{Verdict: deliver.Failed, Reason: reasonOf(err, s.client.timeout)}
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // the status says enough
	return judge(answer, body)
}

func (s *Sender) request(ctx context.Context, b *deliver.Batch) (*http.Request, error) {
	body := appendBody(nil, s.e.Format, b)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the url cannot be used")
	}
	for name, value := range s.e.Headers {
		r.Header.Set(name, string(value))
	}
	r.Header.Set("Content-Type", contentTypes[s.e.Format])
	r.Header.Set("User-Agent", s.client.agent)
	if b.Replay {
		r.Header.Set(headerReplay, "1")
	}
	if s.e.Format != Batch { // whose events have their own
		for name, value := range b.Items[0].TraceHeaders() {
			r.Header.Set(name, value)
		}
	}
	Sign(r.Header, messageID(b), time.Now(), body, s.secrets)
	return r, nil
}

// reasonOf describes an error without the URL, which may hold a secret.
func reasonOf(err error, limit time.Duration) string {
	if refused, ok := errors.AsType[*AddressError](err); ok {
		return refused.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", limit)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return err.Error()
}

// judge draws the verdict of an answer.
func judge(answer *http.Response, body []byte) deliver.Result {
	r := deliver.Result{Status: answer.StatusCode}
	code := answer.StatusCode
	switch {
	case code >= 200 && code < 300:
		return r
	case code == http.StatusGone:
		r.Verdict = deliver.Gone
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		r.Verdict, r.After = deliver.Failed, retryAfter(answer.Header.Get("Retry-After"), time.Now())
	case code >= 400 && code < 500:
		r.Verdict = deliver.Refused
	default:
		r.Verdict = deliver.Failed
	}
	r.Reason = answer.Status
	if code >= 300 && code < 400 {
		r.Reason += ": redirects are not followed: give the new url"
	} else if text := printable(body); text != "" {
		r.Reason += ": " + text
	}
	return r
}

// retryAfter reads the header Retry-After (RFC 9110, section 10.2.3): seconds, or a date. 0 means
// that there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(max(seconds, 1)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), time.Second)
	}
	return 0
}

// printable returns the beginning of an answer as one line.
func printable(body []byte) string {
	text := strings.ToValidUTF8(string(body[:min(len(body), quoted)]), "")
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
