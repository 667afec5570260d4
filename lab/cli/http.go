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
	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/http1"
)

// httpCmd measures a service that speaks HTTP/1. docs/guides/bench-http.md is its
// guide.
type httpCmd struct {
	httpTarget `embed:""`

	Z time.Duration `name:"z" short:"z" placeholder:"DURATION" help:"The same as -d, as hey has it."`

	loadFlags `embed:""`
}

// httpTarget is a service that speaks HTTP/1, and what is asked of it.
type httpTarget struct {
	URL string `arg:"" help:"What to ask for; http:// may be left out. It may have placeholders: {{seq}}, {{rand 1 100}}, {{uuid}}, {{line FILE}}."`

	Method   string   `short:"m" placeholder:"METHOD" help:"Method (default GET, or POST with a body)."`
	Header   []string `short:"H" sep:"none" placeholder:"\"NAME: VALUE\"" help:"Header field; once for each. It may have placeholders."`
	Body     *string  `placeholder:"TEXT" help:"Body of the request; it may have placeholders."`
	BodyFile string   `type:"path" placeholder:"FILE" help:"The body is the content of this file, as it is."`
	Bodies   string   `type:"path" placeholder:"FILE" help:"Each line of this file is a body: they are sent in turns, over and over."`
	Targets  string   `type:"path" placeholder:"FILE" help:"Requests in the form of vegeta, sent in turns; all of the service of URL."`
	Status   string   `placeholder:"LIST" help:"Statuses that count as good, such as 2xx,304 (default all below 400)."`

	Unix     string `type:"path" placeholder:"PATH" help:"Connect to this unix socket, whatever the host of URL."`
	Insecure bool   `help:"Do not check the service's certificate."`
	CACert   string `name:"cacert" type:"path" placeholder:"FILE" help:"Certificates to trust instead of the system's (PEM)."`
	Cert     string `type:"path" placeholder:"FILE" help:"Certificate to show to the service (PEM)."`
	Key      string `type:"path" placeholder:"FILE" help:"Key of --cert (PEM)."`
}

// Help describes the two kinds of load and the exit codes.
func (*httpCmd) Help() string {
	return `Without --rate each connection asks again when it is answered: how much the service can do. With --rate requests are due at their times whatever the service does, and response times count from when they were due: how it serves users who do not wait for each other.

Exit codes: 0 the objectives held, 1 a failure of this side, 2 usage, 3 an objective was missed, 4 nothing was measured, or an objective cannot be told, 130 interrupted: the first Ctrl-C ends the sending and reports, a second one ends at once.

    paddock bench http http://127.0.0.1:8080/ -c 50 -d 30s
    paddock bench http http://127.0.0.1:8080/ --rate "poisson 2000/s" --slo "p99<50ms,err<0.1%,rate>=0.99*target" --out DIR
    paddock bench http http://127.0.0.1:8080/v1/positions --bodies positions.ndjson -H "Content-Type: application/json"`
}

// Run makes the run and prints its report.
func (b *httpCmd) Run(ctx context.Context, c *Console) error {
	if b.Z != 0 && b.Duration != 0 {
		return usagef("-z and -d are the same: give one of them")
	}
	b.Duration = cmp.Or(b.Duration, b.Z)
	title, plan, err := b.plan(c, b.Seed)
	if err != nil {
		return usageError(err)
	}
	run, err := b.prepare(title, plan)
	if err != nil {
		return err
	}
	return run.run(ctx, c)
}

// plan is a plan that says where the service is and what it is asked for, with a title.
func (b *httpTarget) plan(c *Console, seed uint64) (title string, plan load.Plan, err error) {
	b.URL = http1.WithScheme(b.URL)
	if plan, err = b.target(); err != nil {
		return "", plan, err
	}
	codec := &http1.Codec{}
	if codec.Requests, err = b.requests(c, seed); err != nil {
		return "", plan, err
	}
	if b.Status != "" {
		if codec.Good, err = http1.ParseStatuses(b.Status); err != nil {
			return "", plan, fmt.Errorf("--status: %w", err)
		}
	}
	plan.Codec = codec
	return b.method() + " " + runfile.Redact([]string{b.URL})[0], plan, nil
}

// target is a plan that says where the service is.
func (b *httpTarget) target() (load.Plan, error) {
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

func (b *httpTarget) tls() (*tls.Config, error) {
	u, err := url.Parse(b.URL)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, InsecureSkipVerify: b.Insecure} //nolint:gosec // as the flag says
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

// requests makes the requests to send.
func (b *httpTarget) requests(c *Console, seed uint64) (http1.Requests, error) {
	given := 0
	for _, is := range []bool{b.Body != nil, b.BodyFile != "", b.Bodies != "", b.Targets != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		return nil, errors.New("--body, --body-file, --bodies and --targets exclude one another")
	}
	r := http1.Request{Method: b.Method, URL: b.URL, UserAgent: "paddock/" + version.Get().Version}
	for _, text := range b.Header {
		field, err := http1.ParseField(text)
		if err != nil {
			return nil, err
		}
		r.Header = append(r.Header, field)
	}
	arena := &http1.Arena{}
	switch {
	case b.Bodies != "":
		bodies, err := readBodies(c, b.Bodies)
		if err != nil {
			return nil, fmt.Errorf("--bodies: %s: %w", b.Bodies, err)
		}
		return arena, arena.AddBodies(r, bodies.List)
	case b.BodyFile != "":
		body, err := os.ReadFile(b.BodyFile)
		if err != nil {
			return nil, fmt.Errorf("--body-file: %w", err)
		}
		return arena, arena.AddBodies(r, [][]byte{body})
	case b.Targets != "":
		return b.targets(r, seed)
	case b.Body != nil:
		r.Body = []byte(*b.Body)
	}
	return http1.Compile([]http1.Request{r}, os.ReadFile, seed)
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
func (b *httpTarget) targets(r http1.Request, seed uint64) (http1.Requests, error) {
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
	return http1.Compile(list, os.ReadFile, seed)
}

// method returns the method for the report.
func (b *httpTarget) method() string {
	switch {
	case b.Targets != "":
		return "targets of"
	case b.Method != "":
		return b.Method
	case b.Body != nil || b.BodyFile != "" || b.Bodies != "":
		return "POST"
	}
	return "GET"
}
