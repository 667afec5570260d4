// Package wrk has wrk's interface over package load: its flags, its numbers with units, its
// statistics, its block of text and its Lua scripts.
//
// wrk (since version 4) changes the response times of a run afterwards: it adds times for requests
// that it did not send while the service stood still. [Stats.Correct] does the same, so that the
// numbers can be compared with the measured ones. Nothing else here changes a measured number.
package wrk

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"paddock/lab/internal/persona/getopt"
	"paddock/load"
	"paddock/load/http1"
)

// Options are the options of a command line.
type Options struct {
	Threads, Conns    int64
	Duration, Timeout int64 // seconds
	Script            string
	Headers           []string
	Latency           bool // percentiles too
	Version, Help     bool

	// Options that wrk does not have.
	Bodies      string
	Compat      bool // send the empty body of wrk's scripts too
	Inline      bool
	Block       bool // wrk's lines alone, as wrk would print them
	SLO         string
	AllowRed    bool
	Engine      string
	Grace       int64 // seconds
	Seed        int64
	Out         string
	JSON, Quiet bool

	URL  string
	Args []string // the URL and the arguments behind it
}

// The most that the flags may say: beyond, a mistake in typing is likelier.
const (
	maxThreads = 256
	maxConns   = 1_000_000
	maxSeconds = int64(math.MaxInt64) / int64(time.Second)
)

var engines = map[string]load.Engine{"auto": load.Auto, "epoll": load.Epoll, "go": load.Portable}

// Flags are the flags, which set o.
func (o *Options) Flags() getopt.Flags {
	return getopt.Flags{
		{Short: 't', Long: "threads", Value: "N", Help: "Threads (default 2).", Set: number(&o.Threads, ParseCount, 1, maxThreads)},
		{Short: 'c', Long: "connections", Value: "N", Help: "Connections, of which each thread has as many (default 10).", Set: number(&o.Conns, ParseCount, 1, maxConns)},
		{Short: 'd', Long: "duration", Value: "TIME", Help: "For how long (default 10s).", Set: number(&o.Duration, ParseSeconds, 1, maxSeconds)},
		{Short: 's', Long: "script", Value: "FILE", Help: "Lua script, as of wrk; arguments of init follow the URL.", Set: getopt.Text(&o.Script)},
		{Short: 'H', Long: "header", Value: "FIELD", Help: "Header field, \"NAME: VALUE\"; once for each.", Set: getopt.List(&o.Headers)},
		{Short: 'L', Long: "latency", Help: "Print percentiles too.", Set: getopt.On(&o.Latency)},
		{Short: 'T', Long: "timeout", Value: "TIME", Help: "A request without an answer for so long has failed (default 2s).", Set: number(&o.Timeout, ParseSeconds, 1, maxSeconds)},
		{Short: 'v', Long: "version", Help: "Print which build this is, and go on.", Set: getopt.On(&o.Version)},
		{Short: 'h', Long: "help", Help: "Print this.", Set: getopt.On(&o.Help)},

		{Long: "bodies", Value: "FILE", Help: "POST the lines of FILE in turns (default $WRK_BODIES, if there is no script).", Set: getopt.Text(&o.Bodies)},
		{Long: "bodies-compat", Help: "Send no body before each round, as scripts do that count from 0.", Set: getopt.On(&o.Compat)},
		{Long: "lua-inline", Help: "Run the script where requests are sent: slow, but response() works.", Set: getopt.On(&o.Inline)},
		{Long: "block", Help: "Print wrk's lines alone, with its own Latency.", Set: getopt.On(&o.Block)},
		{Long: "slo", Value: "LIST", Help: "Objectives, such as \"p99<50ms,err<0.1%\".", Set: getopt.Text(&o.SLO)},
		{Long: "allow-red", Help: "Judge it by the numbers as they are, although the generator was the bottleneck.", Set: getopt.On(&o.AllowRed)},
		{Long: "engine", Value: "ENGINE", Help: "I/O engine: auto, epoll or go (default auto).", Set: getopt.Text(&o.Engine)},
		{Long: "grace", Value: "TIME", Help: "For how long the end waits for answers (default 5s).", Set: number(&o.Grace, ParseSeconds, 1, maxSeconds)},
		{Long: "seed", Value: "N", Help: "Seed of the random numbers of scripts (default 1).", Set: getopt.Number(&o.Seed, 0)},
		{Long: "out", Value: "DIR", Help: "Write the report to this directory.", Set: getopt.Text(&o.Out)},
		{Long: "json", Help: "Print the report as an object, and nothing of wrk.", Set: getopt.On(&o.JSON)},
		{Long: "quiet", Help: "Show nothing while it runs.", Set: getopt.On(&o.Quiet)},
	}
}

// number reads a number with a unit, within bounds.
func number(to *int64, parse func(string) (int64, error), least, most int64) func(string) error {
	return func(text string) error {
		n, err := parse(text)
		switch {
		case err != nil:
			return err
		case n < least || n > most:
			return fmt.Errorf("%s: %d to %d", text, least, most)
		}
		*to = n
		return nil
	}
}

// Parse reads a command line. bodies is the default of --bodies where there is no script. The
// error names the flag.
func Parse(args []string, bodies string) (*Options, error) {
	o := &Options{Threads: 2, Conns: 10, Duration: 10, Timeout: 2, Grace: 5, Seed: 1, Engine: "auto"}
	operands, err := o.Flags().Parse(args)
	if o.Bodies == "" && o.Script == "" {
		o.Bodies = bodies
	}
	_, engine := engines[o.Engine]
	switch {
	case err != nil:
		return nil, err
	case o.Help:
		return o, nil
	case len(operands) == 0:
		return nil, errors.New("the URL is missing")
	case o.Conns < o.Threads:
		return nil, fmt.Errorf("-c %d is below -t %d: each thread needs a connection", o.Conns, o.Threads)
	case !engine:
		return nil, fmt.Errorf("--engine %s: auto, epoll or go", o.Engine)
	case o.Compat && o.Bodies == "":
		return nil, errors.New("--bodies-compat is about --bodies, or WRK_BODIES of the environment, without --script")
	case o.Bodies != "" && o.Script != "":
		return nil, errors.New("--bodies and --script exclude one another")
	case o.Inline && o.Script == "":
		return nil, errors.New("--lua-inline is about --script")
	case o.Block && o.JSON:
		return nil, errors.New("--block and --json exclude one another")
	}
	o.URL, o.Args = operands[0], operands
	return o, nil
}

// Plan is the load that wrk would make: as many connections on each thread. The codec is
// the caller's, and TLS, if it is secure.
func (o *Options) Plan() (plan load.Plan, secure bool, err error) {
	address, secure, err := http1.Endpoint(o.URL)
	return load.Plan{
		Address: address, Conns: int(o.Conns / o.Threads * o.Threads), Threads: int(o.Threads), Seed: uint64(o.Seed),
		Duration: time.Duration(o.Duration) * time.Second, Timeout: time.Duration(o.Timeout) * time.Second,
		Grace: time.Duration(o.Grace) * time.Second, Engine: engines[o.Engine],
	}, secure, err
}

// Request returns wrk's request without a script: Host, and the fields of -H.
func (o *Options) Request() (http1.Request, error) {
	r := http1.Request{URL: o.URL, Bare: true}
	u, err := url.Parse(o.URL)
	if err != nil {
		return r, err
	}
	r.Header = []http1.Field{{Name: "Host", Value: u.Host}}
	for _, text := range o.Headers {
		field, err := http1.ParseField(text)
		if err != nil {
			return r, fmt.Errorf("-H: %w", err)
		}
		same := func(f http1.Field) bool { return strings.EqualFold(f.Name, field.Name) }
		if at := slices.IndexFunc(r.Header, same); at >= 0 {
			r.Header[at] = field
		} else {
			r.Header = append(r.Header, field)
		}
	}
	return r, nil
}

// Cycle is the requests that post bodies in turns.
func (o *Options) Cycle(r http1.Request, bodies [][]byte) (http1.Requests, error) {
	r.Method = "POST"
	if o.Compat {
		return NewCycle(r, bodies)
	}
	arena := &http1.Arena{}
	return arena, arena.AddBodies(r, bodies)
}

// WriteStart writes the lines that come before the run, with the URL as it may be shown.
func (o *Options) WriteStart(w io.Writer, url string) error {
	_, err := fmt.Fprintf(w, "Running %s test @ %s\n  %d threads and %d connections\n", formatSeconds(o.Duration), url, o.Threads, o.Conns)
	return err
}

// Shown returns the block without the parts that are not printed.
func (o *Options) Shown(b *Block) *Block {
	shown := *b
	shown.Distribution = o.Latency
	if o.Block {
		shown.Latency, shown.Corrected = b.Corrected, nil
	}
	return &shown
}

// Cycle are bodies as wrk's scripts send that count from 0 in tables that begin at 1: before
// each round of all bodies goes one request without a body, which services answer with 400.
// Each thread goes round by itself. wrk asks its script once before the run, so that its
// first thread begins behind the empty one.
type Cycle struct{ arena http1.Arena }

// NewCycle makes such a cycle of requests that are like r but for the bodies.
func NewCycle(r http1.Request, bodies [][]byte) (*Cycle, error) {
	c := &Cycle{}
	r.Body = nil
	if err := c.arena.Add(&r); err != nil {
		return nil, err
	}
	return c, c.arena.AddBodies(r, bodies)
}

// Thread returns the requests of one thread.
func (c *Cycle) Thread(part, _ int) http1.Source {
	t := &turn{of: &c.arena}
	if part == 0 {
		t.next = 1
	}
	return t
}

// turn is how far one thread is.
type turn struct {
	of   *http1.Arena
	next int64
}

// Make gives the next request of the thread, whatever its number in the run.
func (t *turn) Make(int64) (http1.Message, error) {
	t.next++
	return t.of.Make(t.next - 1)
}
