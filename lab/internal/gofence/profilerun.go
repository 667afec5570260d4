package gofence

import (
	"context"
	"net/url"
	"time"

	"github.com/google/pprof/profile"
)

// ProfileRun is one profile of a server, under our load or under whatever it has.
type ProfileRun struct {
	URL      string   // of the server; with bodies, where they are posted: http://host:port/path
	Token    string   // of the profile's request; "" without
	Bodies   [][]byte // posted while the profile is taken; none: another program makes the load
	Conns    int      // that post
	Warmup   time.Duration
	Duration time.Duration // of the profile, whole seconds
	Buckets  []Bucket
}

// Take runs the load, takes the profile and divides it. requests is how many were
// answered in Duration, at the rate over the whole of the profile's request; 0
// without bodies.
func (r *ProfileRun) Take(ctx context.Context) (s Shares, requests int64, err error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return s, 0, err
	}
	if len(r.Bodies) == 0 {
		p, err := r.fetch(ctx)
		if err != nil {
			return s, 0, err
		}
		s, err = Attribute(p, r.Buckets)
		return s, 0, err
	}
	load := &ClosedLoop{Addr: u.Host, Conns: r.Conns}
	for _, body := range r.Bodies {
		load.Requests = append(load.Requests, Post(u.Host, u.RequestURI(), body))
	}
	p, rate, err := r.underLoad(ctx, load)
	if err != nil {
		return s, 0, err
	}
	s, err = Attribute(p, r.Buckets)
	return s, int64(rate * r.Duration.Seconds()), err
}

func (r *ProfileRun) fetch(ctx context.Context) (*profile.Profile, error) {
	return FetchProfile(ctx, r.URL, r.Token, int(r.Duration.Seconds()))
}

// underLoad takes a profile while the load runs, and returns when both have ended.
// rate is requests per second.
func (r *ProfileRun) underLoad(ctx context.Context, load *ClosedLoop) (p *profile.Profile, rate float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1) // buffered: it may be that no goroutine receives it
	go func() {
		err := load.Run(ctx)
		cancel() // without load there is nothing to profile
		ended <- err
	}()
	defer func() {
		cancel()
		if failed := <-ended; failed != nil {
			err = failed // the cause: the error of the profile follows from it
		}
	}()
	warm := time.NewTimer(r.Warmup)
	defer warm.Stop()
	select {
	case <-warm.C:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	before, began := load.Done(), time.Now()
	if p, err = r.fetch(ctx); err != nil {
		return nil, 0, err
	}
	return p, float64(load.Done()-before) / time.Since(began).Seconds(), nil
}
