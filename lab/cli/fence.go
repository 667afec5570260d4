package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"

	"paddock/internal/platform/lookup"
	"paddock/internal/process/version"
	natscodec "paddock/lab/internal/codec/nats"
	wirecodec "paddock/lab/internal/codec/wire"
	"paddock/lab/internal/gofence"
	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/http1"
	"paddock/wire"
)

// fenceCmd measures look-ups. docs/guides/bench-fence.md is its guide.
type fenceCmd struct {
	URL string `arg:"" optional:"" help:"Service to ask: http://HOST:PORT/fence/NAME/search or whatever takes a POST of a point Feature, wire://HOST:PORT, or nats://HOST:PORT."`

	Kinds   []string `name:"kind" placeholder:"KIND" help:"Ask a \"paddock fence\" of each of these kinds instead, one after another, and compare them: all, or some of brute, city, bbox, city_bbox, qtree_z14, rtree, s2_z16, qrtree_z14, cellmap, separated by commas."`
	Data    string   `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files: its point Features are asked for, and with --kind its set with the most fences (default the simulated city)."`
	Parents string   `placeholder:"FILE" type:"path" help:"With --kind, GeoJSON file of areas by which city and city_bbox group fences (default the simulated city's boroughs; none for --data)."`
	Bodies  string   `placeholder:"FILE" type:"path" help:"Ask for the lines of this file instead, a point Feature each."`
	Write   string   `name:"write-bodies" type:"path" placeholder:"FILE" help:"Write the bodies to this file, a line each, and end: for other load generators."`
	Set     string   `placeholder:"NAME" help:"Set to ask (over HTTP as URL says; over wire and the bus all of them)."`
	Token   string   `placeholder:"TOKEN" help:"Token of the service; better given in the environment."`

	loadFlags `embed:""`
}

// Help describes the requests and the exit codes.
func (*fenceCmd) Help() string {
	return `The points are those of the gofence benchmark: positions of vehicles and ride requests around them, 37,290 in all. Over HTTP each is posted as a Feature; wire and the bus get the compact form of the kind fence.search and of the subject paddock.search.NAME.

Rates, objectives, files and exit codes are those of "paddock bench http".

    paddock bench fence http://127.0.0.1:8080/fence/NAME/search -c 50 -d 30s
    paddock bench fence wire://127.0.0.1:7400 --depth 16
    paddock bench fence --kind all --data DIR`
}

// Run asks one service, or one of each kind.
func (b *fenceCmd) Run(ctx context.Context, c *Console) error {
	switch {
	case b.Write != "":
		corpus, err := b.corpus()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "%s: %d bodies, SHA-256 %s\n", b.Write, len(corpus.Bodies), corpus.Digest())
		return os.WriteFile(b.Write, corpus.Text(), 0o644)
	case (b.URL == "") == (len(b.Kinds) == 0):
		return usagef("want either a URL or --kind")
	case b.URL != "":
		return b.one(ctx, c)
	}
	return b.compare(ctx, c)
}

// one measures the service at URL.
func (b *fenceCmd) one(ctx context.Context, c *Console) (err error) {
	if b.Parents != "" {
		return usagef("--parents is about --kind: this service has its own")
	}
	u, err := url.Parse(b.URL)
	if err != nil || u.Host == "" {
		return usagef("%q: want http://, https://, wire:// or nats:// and HOST:PORT", b.URL)
	}
	corpus, err := b.corpus()
	if err != nil {
		return err
	}
	var run *loadRun
	switch u.Scheme {
	case "http", "https":
		run, err = b.overHTTP(b.URL, corpus)
	case "wire":
		run, err = b.overWire(u.Host, corpus)
	case "nats":
		run, err = b.overNATS(u.Host, corpus)
	default:
		err = usagef("%q: want http://, https://, wire:// or nats:// and HOST:PORT", b.URL)
	}
	if err != nil {
		return err
	}
	return run.run(ctx, c)
}

// corpus returns the bodies to post.
func (b *fenceCmd) corpus() (corpus *gofence.Corpus, err error) {
	if b.Bodies != "" {
		return corpusOf(b.Bodies, "")
	}
	dir, remove, err := townUnless(b.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return corpusOf("", dir)
}

// overHTTP posts each body.
func (b *fenceCmd) overHTTP(target string, corpus *gofence.Corpus) (*loadRun, error) {
	address, secure, err := http1.Endpoint(target)
	if err != nil {
		return nil, usageError(err)
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, usageError(err)
	}
	if u.Path == "" || u.Path == "/" {
		if b.Set == "" {
			return nil, usagef("%s: which set? Say --set NAME, or %s/fence/NAME/search", target, u.Scheme+"://"+u.Host)
		}
		u = u.JoinPath("fence", b.Set, "search")
	} else if b.Set != "" {
		return nil, usagef("--set: %s says already what is asked", target)
	}
	r := http1.Request{URL: u.String(), UserAgent: "paddock/" + version.Get().Version, Header: []http1.Field{{Name: "Content-Type", Value: "application/json"}}}
	if b.Token != "" {
		r.Header = append(r.Header, http1.Field{Name: "Authorization", Value: "Bearer " + b.Token})
	}
	arena := &http1.Arena{}
	if err := arena.AddBodies(r, corpus.Bodies); err != nil {
		return nil, usageError(err)
	}
	plan := load.Plan{Address: address, Codec: &http1.Codec{Requests: arena}}
	if secure {
		if plan.TLS, err = (&httpCmd{URL: target}).tls(); err != nil {
			return nil, usageError(err)
		}
	}
	return b.prepare("POST "+runfile.Redact([]string{u.String()})[0], plan)
}

// compactBodies are the corpus's points in the compact form, of a set if it is named.
func compactBodies(corpus *gofence.Corpus, set string) ([][]byte, error) {
	points, err := corpus.Points()
	if err != nil {
		return nil, err
	}
	head := []byte{lookup.CompactVersion, 0}
	if set != "" {
		if len(set) > math.MaxUint8 {
			return nil, fmt.Errorf("--set: a name of %d bytes", len(set))
		}
		head = append([]byte{lookup.CompactVersion, lookup.CompactSet, byte(len(set))}, set...)
	}
	bodies := make([][]byte, 0, len(points))
	for _, p := range points {
		b := append([]byte(nil), head...)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lon))
		bodies = append(bodies, binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lat)))
	}
	return bodies, nil
}

// searchKind is the kind of requests that wire's look-ups have.
const searchKind = "fence.search"

// overWire asks by requests of the kind fence.search.
func (b *fenceCmd) overWire(address string, corpus *gofence.Corpus) (*loadRun, error) {
	bodies, err := compactBodies(corpus, b.Set)
	if err != nil {
		return nil, usageError(err)
	}
	codec := &wirecodec.Codec{Do: wirecodec.Request, Kind: searchKind, Bodies: bodies, Depth: b.Depth}
	run, err := b.prepare("wire "+searchKind+" "+b.Set, load.Plan{Address: address, Codec: codec})
	if err != nil {
		return nil, err
	}
	run.begin = func(ctx context.Context, p *load.Plan) (err error) {
		return enter(ctx, p, codec, "paddock-bench", b.Token, func(ctx context.Context, conn *wire.Conn) error {
			_, err := conn.Call(ctx, searchKind, bodies[0])
			return err
		})
	}
	return run, nil
}

// overNATS asks by requests on the subject of the set.
func (b *fenceCmd) overNATS(address string, corpus *gofence.Corpus) (*loadRun, error) {
	bodies, err := compactBodies(corpus, "")
	if err != nil {
		return nil, usageError(err)
	}
	set := b.Set
	if set == "" {
		set = "_" // of all sets
	}
	subject := "paddock.search." + set
	codec := func() *natscodec.Codec {
		return &natscodec.Codec{Do: natscodec.Request, Subject: subject, Bodies: bodies, Login: natscodec.Login{Token: b.Token}}
	}
	if err := codec().Prepare(); err != nil {
		return nil, usageError(err)
	}
	run, err := b.prepare("NATS request "+subject, load.Plan{Address: address, Codec: codec()})
	if err != nil {
		return nil, err
	}
	run.begin = func(ctx context.Context, p *load.Plan) error { return beginNATS(ctx, p, codec()) }
	return run, nil
}
