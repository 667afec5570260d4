package gofence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/http1"

	"github.com/google/pprof/profile"
)

// forever is longer than any profile.
const forever = time.Hour

// ProfileRun is one profile of a server, under our load or under whatever it has.
type ProfileRun struct {
	URL      string   // of the server; with bodies, where they are posted: http://host:port/path
	Token    string   // of the server; "" without
	Bodies   [][]byte // posted while the profile is taken; none: another program makes the load
	Conns    int      // that post
	Warmup   time.Duration
	Duration time.Duration // of the profile, whole seconds
	Buckets  []Bucket

	Profile *profile.Profile // that Take has taken
}

// Take runs the load, takes the profile and divides it. requests is how many were
// answered in Duration, at the rate over the whole of the profile's request; 0
// without bodies.
func (r *ProfileRun) Take(ctx context.Context) (s Shares, requests int64, err error) {
	if len(r.Bodies) == 0 {
		r.Profile, err = r.fetch(ctx)
	} else {
		r.Profile, requests, err = r.underLoad(ctx)
	}
	if err != nil {
		return s, 0, err
	}
	s, err = Attribute(r.Profile, r.Buckets)
	return s, requests, err
}

func (r *ProfileRun) fetch(ctx context.Context) (*profile.Profile, error) {
	return FetchProfile(ctx, r.URL, r.Token, int(r.Duration.Seconds()))
}

// errTaken ends the load.
var errTaken = errors.New("the profile has been taken")

// underLoad takes a profile while each connection posts when it is answered. It returns when both
// have ended. An answer other than 200 is an error.
func (r *ProfileRun) underLoad(ctx context.Context) (p *profile.Profile, requests int64, err error) {
	if err := r.try(ctx); err != nil {
		return nil, 0, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var done atomic.Int64
	plan, err := r.plan(func(int) func(*load.Outcome) {
		return func(o *load.Outcome) {
			if o.Class != load.ClassOK {
				end(fmt.Errorf("answer %d, of the class %v", o.Status, o.Class))
			}
			done.Add(1)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := load.Run(ctx, plan, nil)
		end(err) // without load there is nothing to profile
	}()
	p, requests, err = r.within(ctx, &done)
	end(errTaken)
	<-ended
	if cause := context.Cause(ctx); cause != errTaken {
		err = cause // the error of the profile follows from it
	}
	return p, requests, err
}

// try posts the first body.
func (r *ProfileRun) try(ctx context.Context) error {
	header := http.Header{}
	for _, f := range r.header() {
		header.Set(f.Name, f.Value)
	}
	_, _, err := process.Ask(ctx, http.MethodPost, r.URL, header, r.Bodies[0])
	return err
}

// header returns the fields of a posted request.
func (r *ProfileRun) header() []http1.Field {
	fields := []http1.Field{{Name: "Content-Type", Value: "application/json"}}
	if r.Token != "" {
		fields = append(fields, http1.Field{Name: "Authorization", Value: "Bearer " + r.Token})
	}
	return fields
}

// plan is a closed run without an end.
func (r *ProfileRun) plan(each func(int) func(*load.Outcome)) (load.Plan, error) {
	address, _, err := http1.Endpoint(r.URL)
	if err != nil {
		return load.Plan{}, err
	}
	requests := &http1.Arena{}
	request := http1.Request{URL: r.URL, Header: r.header()}
	plan := load.Plan{Address: address, Codec: &http1.Codec{Requests: requests}, Conns: r.Conns, Duration: forever, Each: each}
	return plan, requests.AddBodies(request, r.Bodies)
}

// within takes the profile under the load. It counts the requests that are done meanwhile.
func (r *ProfileRun) within(ctx context.Context, done *atomic.Int64) (*profile.Profile, int64, error) {
	if err := lifecycle.Sleep(ctx, r.Warmup); err != nil {
		return nil, 0, err
	}
	before, began := done.Load(), time.Now()
	p, err := r.fetch(ctx)
	rate := float64(done.Load()-before) / time.Since(began).Seconds()
	return p, int64(rate * r.Duration.Seconds()), err
}
