package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"paddock/lab/internal/gofence"
)

// profileCmd is the profile table of the gofence benchmark.
// docs/guides/bench-fence.md is its guide.
type profileCmd struct {
	Dir string `arg:"" optional:"" help:"Directory of GeoJSON files: the set with the most fences is searched, and the point Features are posted (default the simulated city)."`

	Kinds    []string      `name:"fence" placeholder:"KIND" help:"Rows of the table, separated by commas: brute, city, bbox, city_bbox, qtree_z14, rtree, s2_z16, qrtree_z14, cellmap (default all of them, one after the other)."`
	Parents  string        `placeholder:"FILE" type:"path" help:"GeoJSON file of areas by which city and city_bbox group fences (default the simulated city's boroughs; none for DIR)."`
	Bodies   string        `placeholder:"FILE" type:"path" help:"Post the lines of this file."`
	Conns    int           `short:"c" placeholder:"N" default:"50" help:"Connections that post (default ${default})."`
	Duration time.Duration `short:"d" placeholder:"DURATION" default:"10s" help:"Length of each profile, in whole seconds (default ${default})."`
	Warmup   time.Duration `placeholder:"DURATION" default:"1s" help:"How long the load runs before the profile (default ${default})."`
	URL      string        `name:"url" placeholder:"URL" help:"Profile the server at this address, which runs with --profile, under the load that it has. With --bodies they are posted to URL, such as http://HOST:PORT/fence/NAME/search."`
	Token    string        `placeholder:"TOKEN" help:"Token of the server at --url; better given in the environment."`
	Out      string        `name:"profile-out" placeholder:"DIR" type:"path" help:"Write each profile to this directory, for \"go tool pprof\", and a page with their flame graphs."`
	Buckets  string        `placeholder:"NAME=REGEXP;..." help:"Other columns: a sample counts for the first column that matches the root-most function that any does."`
	JSON     bool          `name:"json" help:"Print the report as an object."`

	flames []gofence.Flame
}

// Help says how to read the table.
func (*profileCmd) Help() string {
	return `Each kind is a process of "paddock fence" of its own, under a closed loop of POST searches over loopback. Beneath its row stands that of the original, where it had that kind. Rows add up: each sample of the profile is in one column.

    paddock bench profile DIR --fence rtree,cellmap -d 30s
    paddock bench profile --url http://127.0.0.1:8080/fence/NAME/search --bodies FILE --profile-out DIR`
}

// maxProfileConns keeps a typing error from taking every port of the machine.
const maxProfileConns = 10_000

// Run takes the profiles and prints the table.
func (b *profileCmd) Run(ctx context.Context, c *Console) error {
	buckets, variants, err := b.check()
	if err != nil {
		return usageError(err)
	}
	ctx, release := interruptible(ctx)
	defer release()
	defer context.AfterFunc(ctx, release)() // a second signal ends the process

	report := &gofence.ProfileReport{Date: time.Now().UTC()}
	for _, bucket := range buckets {
		report.Columns = append(report.Columns, bucket.Name)
	}
	if b.URL != "" {
		err = b.profileURL(ctx, buckets, report)
	} else {
		err = b.profileEach(ctx, c, buckets, variants, report)
	}
	if len(report.Rows) > 0 {
		err = errors.Join(err, c.print(report, b.JSON), b.writeFlames(report))
	}
	if ctx.Err() != nil {
		return interruptedError(errors.New("interrupted"))
	}
	return err
}

// check refuses invalid flags before anything starts.
func (b *profileCmd) check() ([]gofence.Bucket, []gofence.Variant, error) {
	switch {
	case b.Duration < time.Second || b.Duration%time.Second != 0 || b.Duration > time.Minute:
		return nil, nil, fmt.Errorf("--duration %v: want whole seconds, 1s to 1m", b.Duration)
	case b.Conns < 1 || b.Conns > maxProfileConns:
		return nil, nil, fmt.Errorf("--conns %d: 1 to %d", b.Conns, maxProfileConns)
	case b.Warmup < 0:
		return nil, nil, fmt.Errorf("--warmup %v is below zero", b.Warmup)
	case b.URL != "" && (b.Dir != "" || len(b.Kinds) > 0 || b.Parents != ""):
		return nil, nil, errors.New("--url is about a server that runs: DIR, --fence and --parents are its own")
	case b.URL == "" && b.Token != "":
		return nil, nil, errors.New("--token is about the server of --url")
	}
	if u, err := url.Parse(b.URL); b.URL != "" && (err != nil || u.Scheme != "http" || u.Host == "") {
		return nil, nil, fmt.Errorf("--url %q: want http://HOST:PORT", b.URL)
	}
	buckets := gofence.FenceBuckets()
	if b.Buckets != "" {
		var err error
		if buckets, err = gofence.ParseBuckets(b.Buckets); err != nil {
			return nil, nil, fmt.Errorf("--buckets: %w", err)
		}
	}
	variants, err := variantsOf("--fence", b.Kinds)
	return buckets, variants, err
}

// profileURL is the one row of a server that runs.
func (b *profileCmd) profileURL(ctx context.Context, buckets []gofence.Bucket, report *gofence.ProfileReport) error {
	run := gofence.ProfileRun{URL: b.URL, Token: b.Token, Duration: b.Duration, Warmup: b.Warmup, Conns: b.Conns, Buckets: buckets}
	if b.Bodies != "" {
		corpus, err := corpusOf(b.Bodies, "")
		if err != nil {
			return err
		}
		run.Bodies, report.Corpus = corpus.Bodies, corpus.Named()
	}
	return b.add(ctx, report, "server", &run)
}

// profileEach is a row for each kind, from a process of its own.
func (b *profileCmd) profileEach(ctx context.Context, c *Console, buckets []gofence.Bucket, variants []gofence.Variant, report *gofence.ProfileReport) (err error) {
	subject, err := newFenceSubject(b.Dir, b.Bodies)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, subject.remove()) }()
	report.Corpus = subject.corpus.Named()
	for _, v := range variants {
		fmt.Fprintf(c.Stderr, "%s: %v under %d connections\n", v.Name, b.Duration, b.Conns)
		subject.warn(c, v, b.Parents)
		run := gofence.ProfileRun{Duration: b.Duration, Warmup: b.Warmup, Conns: b.Conns, Buckets: buckets, Bodies: subject.corpus.Bodies}
		if err := b.profileOne(ctx, subject, v, &run, report); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

// profileOne starts the service with one kind, profiles and ends it.
func (b *profileCmd) profileOne(ctx context.Context, subject *fenceSubject, v gofence.Variant, run *gofence.ProfileRun, report *gofence.ProfileReport) (err error) {
	server, target, err := subject.start(ctx, v, b.Parents, "--profile")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	run.URL = target
	return b.add(ctx, report, v.Name, run)
}

// add takes a profile and appends its row.
func (b *profileCmd) add(ctx context.Context, report *gofence.ProfileReport, name string, run *gofence.ProfileRun) error {
	shares, requests, err := run.Take(ctx)
	if err != nil {
		return err
	}
	if shares.Samples == 0 {
		return unmeasuredError(fmt.Errorf("%s: no sample in %v: the server was idle", name, b.Duration))
	}
	if b.Out != "" {
		if err := os.MkdirAll(b.Out, 0o755); err != nil {
			return err
		}
		b.flames = append(b.flames, gofence.Flame{Name: name, Profile: run.Profile})
		if err := writeTo(filepath.Join(b.Out, name+".pb.gz"), run.Profile.Write); err != nil {
			return err
		}
	}
	report.Rows = append(report.Rows, gofence.NewProfileRow(name, shares, requests, b.Duration, b.Buckets == ""))
	return nil
}

// writeFlames writes the page of the profiles.
func (b *profileCmd) writeFlames(report *gofence.ProfileReport) error {
	if b.Out == "" {
		return nil
	}
	return writeTo(filepath.Join(b.Out, "profiles.html"), func(w io.Writer) error {
		return gofence.WriteFlames(w, report, b.flames)
	})
}
