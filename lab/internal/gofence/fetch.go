package gofence

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"paddock/lab/process"
)

// profileGrace is the time that a profile may take beyond its seconds.
const profileGrace = 30 * time.Second

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
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	answer, data, err := process.Ask(ctx, http.MethodGet, at.String(), header, nil)
	if answer != nil && err != nil {
		err = fmt.Errorf("%w; does it run with --profile?", err)
	}
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}
