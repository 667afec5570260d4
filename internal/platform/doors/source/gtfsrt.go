package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/lifecycle"
)

const (
	gtfsTimeout = 30 * time.Second // for one answer
	// maxFeed bounds an answer, in bytes when unpacked.
	maxFeed = 32 << 20
	// maxAskedWait bounds the wait that an answer asks for.
	maxAskedWait = time.Hour
	maxRedirects = 10
)

// feed is what is known of the last answer.
type feed struct {
	etag, modified string
	client         *http.Client
}

// poll asks for a feed until ctx ends. A vehicle whose time has not changed is late, which is
// cheap.
func (s *source) poll(ctx context.Context) {
	f := &feed{client: &http.Client{Timeout: gtfsTimeout, CheckRedirect: sameServer, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1,
		HTTP2: &http.HTTP2Config{SendPingTimeout: gtfsTimeout / 2, PingTimeout: gtfsTimeout / 4}, // finds a dead connection
	}}}
	defer f.client.CloseIdleConnections()
	every := s.settings.GTFS.Every
	wait := every
	for {
		asked, err := s.fetch(ctx, f)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.connected.Store(false)
			s.failed(err)
			wait = max(every, min(2*wait, 20*every, max(every, 10*time.Minute)))
			wait = max(wait, min(asked, maxAskedWait))
		default:
			wait = every
		}
		if lifecycle.Sleep(ctx, wait-every/20+jitter(every/10)) != nil {
			return
		}
	}
}

// sameServer refuses a redirect to another server, which would get the headers of the settings, and
// the address with its key as the Referer.
func sameServer(r *http.Request, via []*http.Request) error {
	switch from := via[0].URL; {
	case r.URL.Scheme != from.Scheme || !strings.EqualFold(r.URL.Host, from.Host):
		return fmt.Errorf("the feed has moved to %s://%.256s: redirects to another server are not followed", r.URL.Scheme, r.URL.Host)
	case len(via) >= maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

// fetch asks once. With an error it returns the wait that the answer asks for, or 0.
func (s *source) fetch(ctx context.Context, f *feed) (asked time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.settings.GTFS.URL, nil)
	if err != nil {
		return 0, errors.New("the address is not valid")
	}
	for name, value := range s.settings.GTFS.Headers {
		r.Header.Set(name, value)
	}
	if f.etag != "" {
		r.Header.Set("If-None-Match", f.etag)
	}
	if f.modified != "" {
		r.Header.Set("If-Modified-Since", f.modified)
	}
	res, err := f.client.Do(r)
	if err != nil {
		return 0, withoutURL(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotModified:
		s.up()
		return 0, nil
	case res.StatusCode != http.StatusOK:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(max(0, min(seconds, int(maxAskedWait.Seconds())))) * time.Second, fmt.Errorf("the feed answers %.64s", res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFeed+1))
	if err != nil {
		return 0, withoutURL(err)
	}
	if len(body) > maxFeed {
		return 0, fmt.Errorf("the feed has more than %d bytes", maxFeed)
	}
	found, err := format.GTFS(body)
	if err != nil {
		s.add(&ingest.Batch{}, nil, body, err)
		return 0, err
	}
	batch := &ingest.Batch{}
	s.add(batch, &found, nil, nil)
	if !s.submit(ctx, batch) {
		return 0, errors.New("shutting down")
	}
	f.etag, f.modified = res.Header.Get("ETag"), res.Header.Get("Last-Modified")
	s.up()
	return 0, nil
}

// withoutURL returns an error of net/http without the URL, in which feeds have keys.
func withoutURL(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
