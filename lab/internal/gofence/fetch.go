package gofence

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

const (
	// maxProfile bounds a profile, in bytes; one of a minute has some hundred thousand.
	maxProfile = 64 << 20
	// profileGrace is the time that a profile may take beyond its seconds.
	profileGrace = 30 * time.Second
)

// client keeps no connection.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// FetchProfile takes a CPU profile of so many whole seconds from a server that serves /debug/pprof.
// base is http://host:port; its path is dropped. token, if not empty, is sent as bearer.
func FetchProfile(ctx context.Context, base, token string, seconds int) (*profile.Profile, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	at := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/debug/pprof/profile", RawQuery: "seconds=" + strconv.Itoa(seconds)}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+profileGrace)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // as much as there is
		return nil, fmt.Errorf("%s: %s: %.200q; does it run with --profile?", at.Redacted(), response.Status, text)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxProfile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Redacted(), err)
	}
	return profile.ParseData(data)
}
