package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"paddock/internal/process/version"
	"paddock/lab/internal/distributed"
	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/http1"
	"paddock/load/http2"
)

// httpCmd measures a service that speaks HTTP/1 or HTTP/2. docs/guides/bench-http.md is its
// guide.
type httpCmd struct {
	URLs []string `arg:"" name:"url" help:"What to ask for; http:// may be left out. It may have placeholders: {{seq}}, {{rand 1 100}}, {{uuid}}, {{line FILE}}. Several of one service are asked for in turns."`
	URL  string   `kong:"-"` // the first

	Method   string   `short:"m" placeholder:"METHOD" help:"Method (default GET, or POST with a body)."`
	Header   []string `short:"H" sep:"none" placeholder:"\"NAME: VALUE\"" help:"Header field; once for each. It may have placeholders."`
	Body     *string  `placeholder:"TEXT" help:"Body of the request; it may have placeholders."`
	BodyFile string   `type:"path" placeholder:"FILE" help:"The body is the content of this file, as it is."`
	Bodies   string   `type:"path" placeholder:"FILE" help:"Each line of this file is a body: they are sent in turns, over and over."`
	Targets  string   `type:"path" placeholder:"FILE" help:"Requests in the form of vegeta, sent in turns; all of the service of URL."`
	Status   string   `placeholder:"LIST" help:"Statuses that count as good, such as 2xx,304 (default all below 400)."`

	HTTP2    bool   `name:"http2" help:"Speak HTTP/2: as negotiated over https, at once over http. --depth is the number of streams of a connection."`
	Unix     string `type:"path" placeholder:"PATH" help:"Connect to this unix socket, whatever the host of URL."`
	Insecure bool   `help:"Do not check the service's certificate."`
	CACert   string `name:"cacert" type:"path" placeholder:"FILE" help:"Certificates to trust instead of the system's (PEM)."`
	Cert     string `type:"path" placeholder:"FILE" help:"Certificate to show to the service (PEM)."`
	Key      string `type:"path" placeholder:"FILE" help:"Key of --cert (PEM)."`

	Z time.Duration `name:"z" short:"z" placeholder:"DURATION" help:"The same as -d, as hey has it."`

	workersFlags `embed:""`
	loadFlags    `embed:""`
}

// Help describes the two kinds of load and the exit codes.
func (*httpCmd) Help() string {
	return `Without --rate each connection asks again when it is answered: how much the service can do. With --rate requests are due at their times whatever the service does, and response times count from when they were due: how it serves users who do not wait for each other.

Exit codes: 0 the objectives held, 1 a failure of this side, 2 usage, 3 an objective was missed, 4 nothing was measured, or an objective cannot be told, 130 interrupted: the first Ctrl-C ends the sending and reports, a second one ends at once.

    paddock bench http http://127.0.0.1:8080/ -c 50 -d 30s
    paddock bench http http://127.0.0.1:8080/ --rate "poisson 2000/s" --slo "p99<50ms,err<0.1%,rate>=0.99*target" --out DIR
    paddock bench http http://127.0.0.1:8080/v1/positions --bodies positions.ndjson -H "Content-Type: application/json"
    paddock bench http http://10.0.0.5:8080/ --rate 20000/s --workers 2 --bus nats://bench:SECRET@10.0.0.1:4222`
}

// Run makes the run and prints its report.
func (b *httpCmd) Run(ctx context.Context, c *Console) error {
	if b.Z != 0 && b.Duration != 0 {
		return usagef("-z and -d are the same: give one of them")
	}
	b.Duration = cmp.Or(b.Duration, b.Z)
	for i, u := range b.URLs {
		b.URLs[i] = http1.WithScheme(u)
	}
	b.URL = b.URLs[0]
	plan, err := b.target()
	if err != nil {
		return usageError(err)
	}
	job, err := b.requests(c, &plan)
	if err != nil {
		return usageError(err)
	}
	if plan.Codec, err = job.Codec(job.ReadFile); err != nil {
		return usageError(err)
	}
	run, err := b.prepare(b.method()+" "+runfile.Redact([]string{b.URL})[0], plan)
	if err != nil {
		return err
	}
	if b.Workers == 0 {
		if b.Bus != (distributed.Bus{}) {
			return usagef("--bus is about --workers")
		}
		return run.run(ctx, c)
	}
	run.plan.Targets = nil // workers do not tell them apart
	return b.fromWorkers(ctx, c, run, job)
}

// target is a plan that says where the service is.
func (b *httpCmd) target() (load.Plan, error) {
	address, secure, err := http1.Endpoint(b.URL)
	if err != nil {
		return load.Plan{}, err
	}
	plan := load.Plan{Network: "tcp", Address: address}
	if b.Unix != "" {
		plan.Network, plan.Address = "unix", b.Unix
	}
	switch {
	case secure:
		plan.TLS, err = b.tls()
	case b.Insecure || b.CACert != "" || b.Cert != "" || b.Key != "":
		err = errors.New("--insecure, --cacert, --cert and --key are about https")
	}
	return plan, err
}

func (b *httpCmd) tls() (*tls.Config, error) {
	u, err := url.Parse(b.URL)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, InsecureSkipVerify: b.Insecure} //nolint:gosec // as the flag says
	if b.HTTP2 {
		http2.Negotiate(config)
	}
	if b.CACert != "" {
		text, err := os.ReadFile(b.CACert)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--cacert: %s has no certificate in PEM", b.CACert)
		}
	}
	switch {
	case (b.Cert == "") != (b.Key == ""):
		return nil, errors.New("--cert and --key come together")
	case b.Cert != "":
		pair, err := tls.LoadX509KeyPair(b.Cert, b.Key)
		if err != nil {
			return nil, fmt.Errorf("--cert: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// requests returns the requests to send, and what else a worker needs for them. It names their
// targets in the plan.
func (b *httpCmd) requests(c *Console, plan *load.Plan) (*distributed.Job, error) {
	given := 0
	for _, is := range []bool{b.Body != nil, b.BodyFile != "", b.Bodies != "", b.Targets != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return nil, errors.New("--body, --body-file, --bodies and --targets exclude one another")
	}
	if len(b.URLs) > 1 && (b.BodyFile != "" || b.Bodies != "" || b.Targets != "") {
		return nil, errors.New("--body-file, --bodies and --targets take one URL")
	}
	r := http1.Request{Method: b.Method, URL: b.URL, UserAgent: "paddock/" + version.Get().Version}
	for _, text := range b.Header {
		field, err := http1.ParseField(text)
		if err != nil {
			return nil, err
		}
		r.Header = append(r.Header, field)
	}
	job := &distributed.Job{Plan: load.Plan{Seed: b.Seed}, Good: b.Status, Insecure: b.Insecure, HTTP2: b.HTTP2}
	switch {
	case b.Bodies != "":
		bodies, err := readBodies(c, b.Bodies)
		if err != nil {
			return nil, fmt.Errorf("--bodies: %s: %w", b.Bodies, err)
		}
		job.Bodies = bodies.List
	case b.BodyFile != "":
		body, err := os.ReadFile(b.BodyFile)
		if err != nil {
			return nil, fmt.Errorf("--body-file: %w", err)
		}
		job.Bodies = [][]byte{body}
	case b.Targets != "":
		list, err := b.targets(r)
		if err != nil {
			return nil, err
		}
		job.Requests = list
		plan.Targets, _ = http1.TargetNames(list)
		return job, nil
	case b.Body != nil:
		r.Body = []byte(*b.Body)
	}
	for _, r.URL = range b.URLs {
		to, secure, err := http1.Endpoint(r.URL)
		if err != nil {
			return nil, err
		}
		if to != plan.Address && b.Unix == "" || secure != (plan.TLS != nil) {
			return nil, fmt.Errorf("%s is not of the service of %s: a run has one", r.URL, b.URL)
		}
		job.Requests = append(job.Requests, r)
	}
	if len(b.URLs) > 1 {
		plan.Targets, _ = http1.TargetNames(job.Requests)
	}
	return job, nil
}

// readBodies reads a file of bodies, and warns of carriage returns in it.
func readBodies(c *Console, path string) (*http1.Bodies, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	bodies, err := http1.ReadBodies(f)
	if err == nil && bodies.Returns > 0 {
		fmt.Fprintf(c.Stderr, "%s: %d bodies end in a carriage return, which is sent\n", path, bodies.Returns)
	}
	return bodies, err
}

// targets are the requests of a file, all of the service of URL.
func (b *httpCmd) targets(r http1.Request) ([]http1.Request, error) {
	f, err := os.Open(b.Targets)
	if err != nil {
		return nil, fmt.Errorf("--targets: %w", err)
	}
	defer f.Close()
	list, err := http1.ReadTargets(f, r, os.ReadFile)
	if err != nil {
		return nil, fmt.Errorf("--targets: %s: %w", b.Targets, err)
	}
	of, _, err := http1.Endpoint(list[0].URL)
	if err != nil {
		return nil, fmt.Errorf("--targets: %w", err)
	}
	if own, _, err := http1.Endpoint(b.URL); err != nil || own != of {
		return nil, fmt.Errorf("--targets: they are of %s, and URL is of %s", of, own)
	}
	return list, nil
}

// method returns the method for the report.
func (b *httpCmd) method() string {
	switch {
	case b.Targets != "" || len(b.URLs) > 1:
		return "targets of"
	case b.Method != "":
		return b.Method
	case b.Body != nil || b.BodyFile != "" || b.Bodies != "":
		return "POST"
	}
	return "GET"
}
