// Package ab is ApacheBench over package load: its flags, its requests and its output, in the same
// columns, so that scripts around ab keep working. Where ab's figures are wrong, or its memory is
// unbounded, a comment describes the difference.
//
// [Options] are a command line. They make the codec of a run; a [Recorder] is told of each
// request that ends, and its [Report] writes the text and the files.
package ab

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"paddock/lab/internal/persona/getopt"
	"paddock/load/http1"
)

// Options are the options of a command line.
type Options struct {
	URL string

	Requests  int64         // -n
	Conns     int           // -c
	Limit     time.Duration // -t; 0 = none
	Timeout   time.Duration // -s
	KeepAlive bool          // -k

	PostFile, PutFile string   // -p, -u: the file of the body
	ContentType       string   // -T
	Method            string   // -m
	Head              bool     // -i
	Cookies, Headers  []string // -C, -H
	Auth, ProxyAuth   string   // -A, -P: user:password
	Proxy             string   // -X: host:port

	AnyLength     bool   // -l: answers need not have the length of the first
	GoOn          bool   // -r: errors of connections do not end the run
	Quiet         bool   // -q
	Verbosity     int    // -v
	NoPercentiles bool   // -d
	NoSpread      bool   // -S: neither deviations nor medians
	CSV, Gnuplot  string // -e, -g: files

	Version, Help bool
	JSON, Goab    bool
	Out           string // a directory
}

// The numbers that ab has where nothing is said.
const (
	defaultRequests = 1
	limitedRequests = 50_000 // with -t
	defaultTimeout  = 30 * time.Second
	maxConns        = 20_000
	maxVerbosity    = 2
)

// Parse reads a command line. Everything that is wrong with it is an error that names the
// flag.
func Parse(args []string) (*Options, error) {
	o := &Options{Requests: defaultRequests, Conns: 1, Timeout: defaultTimeout}
	operands, err := append(o.Flags(), absent()...).Parse(args)
	switch {
	case err != nil:
		return nil, err
	case o.Help || o.Version:
		return o, nil
	case len(operands) != 1:
		return nil, fmt.Errorf("one URL is measured, and there are %d", len(operands))
	}
	o.URL = http1.WithScheme(operands[0])
	return o, o.check()
}

// Flags are ab's, and the flags that all benchmarks here have.
func (o *Options) Flags() getopt.Flags {
	return getopt.Flags{
		{Short: 'n', Value: "N", Help: "Requests (default 1).", Set: getopt.Number(&o.Requests, 1)},
		{Short: 'c', Value: "N", Help: "Connections, each with one request at a time (default 1).", Set: getopt.Number(&o.Conns, 1)},
		{Short: 't', Value: "SECONDS", Help: "End after this time, or after 50000 requests unless a later -n says otherwise.", Set: o.setLimit},
		{Short: 's', Value: "SECONDS", Help: "A request without an answer for so long has failed (default 30).", Set: seconds(&o.Timeout)},
		{Short: 'k', Help: "Keep connections for several requests.", Set: getopt.On(&o.KeepAlive)},
		{Short: 'p', Value: "FILE", Help: "POST the content of this file.", Set: getopt.Text(&o.PostFile)},
		{Short: 'u', Value: "FILE", Help: "PUT the content of this file.", Set: getopt.Text(&o.PutFile)},
		{Short: 'T', Value: "TYPE", Help: "Content-type of the body (default text/plain).", Set: getopt.Text(&o.ContentType)},
		{Short: 'm', Value: "METHOD", Help: "Method.", Set: getopt.Text(&o.Method)},
		{Short: 'i', Help: "Use HEAD.", Set: getopt.On(&o.Head)},
		{Short: 'C', Value: "NAME=VALUE", Help: "Cookie; once for each.", Set: getopt.List(&o.Cookies)},
		{Short: 'H', Value: "FIELD", Help: "Header field, as in \"Accept-Encoding: gzip\"; once for each.", Set: getopt.List(&o.Headers)},
		{Short: 'A', Value: "USER:PASSWORD", Help: "Credentials for the service.", Set: getopt.Text(&o.Auth)},
		{Short: 'P', Value: "USER:PASSWORD", Help: "Credentials for a proxy.", Set: getopt.Text(&o.ProxyAuth)},
		{Short: 'X', Value: "HOST:PORT", Help: "Proxy to ask.", Set: getopt.Text(&o.Proxy)},
		{Short: 'l', Help: "Answers of other lengths than the first have not failed.", Set: getopt.On(&o.AnyLength)},
		{Short: 'r', Help: "Go on after connections that broke.", Set: getopt.On(&o.GoOn)},
		{Short: 'q', Help: "Show nothing while it runs.", Set: getopt.On(&o.Quiet)},
		{Short: 'v', Value: "LEVEL", Help: "From 2 on, show the request; ab's higher levels are not here.", Set: o.setVerbosity},
		{Short: 'd', Help: "Leave out the percentages served.", Set: getopt.On(&o.NoPercentiles)},
		{Short: 'S', Help: "Leave out medians, deviations and warnings.", Set: getopt.On(&o.NoSpread)},
		{Short: 'e', Value: "FILE", Help: "Write the percentages served to this file (CSV).", Set: getopt.Text(&o.CSV)},
		{Short: 'g', Value: "FILE", Help: "Write the times of each request to this file (TSV, for gnuplot).", Set: getopt.Text(&o.Gnuplot)},
		{Short: 'V', Help: "Show the version.", Set: getopt.On(&o.Version)},
		{Short: 'h', Long: "help", Help: "Show this.", Set: getopt.On(&o.Help)},
		{Long: "goab", Help: "Print the lines of goab behind ab's report.", Set: getopt.On(&o.Goab)},
		{Long: "json", Help: "Print the report as an object, that of run.json, instead of all text.", Set: getopt.On(&o.JSON)},
		{Long: "allow-red", Help: "For scripts that give it: the exit code does not depend on the generator.", Set: getopt.On(new(bool))},
		{Long: "out", Value: "DIR", Help: "Write the report to this directory: report.html with the plots, run.json and the rest.", Set: getopt.Text(&o.Out)},
	}
}

// absent lists the flags of ab that are refused, each with the alternative.
func absent() (list getopt.Flags) {
	const tls = "certificates are not checked, and all else of TLS is up to both sides; paddock bench http has --cert, --cacert and more"
	for _, f := range []struct {
		short       byte
		value, hint string
	}{
		{'b', "BYTES", "the system sizes the buffers of sockets"},
		{'B', "ADDRESS", "the system chooses the address to connect from"},
		{'w', "", "--out DIR writes the report as HTML"},
		{'x', "TEXT", "--out DIR writes the report as HTML"},
		{'y', "TEXT", "--out DIR writes the report as HTML"},
		{'z', "TEXT", "--out DIR writes the report as HTML"},
		{'I', "", tls},
		{'Z', "SUITE", tls},
		{'f', "PROTOCOL", tls},
		{'E', "FILE", tls},
	} {
		list = append(list, getopt.Flag{
			Short: f.short, Value: f.value,
			Set: func(string) error { return errors.New("not here: " + f.hint) },
		})
	}
	return list
}

// setLimit is -t, which sets the number of requests as well: one that stands behind it on the
// command line counts.
func (o *Options) setLimit(value string) error {
	o.Requests = limitedRequests
	return seconds(&o.Limit)(value)
}

func (o *Options) setVerbosity(value string) error {
	var n int
	if err := getopt.Number(&n, 0)(value); err != nil {
		return err
	}
	if n > maxVerbosity {
		return fmt.Errorf("%d: answers are not shown, which are levels 3 and 4 of ab; curl -v shows one", n)
	}
	o.Verbosity = n
	return nil
}

// maxSeconds is the longest time that a flag takes: a month.
const maxSeconds = 31 * 24 * 60 * 60

func seconds(to *time.Duration) func(string) error {
	return func(value string) error {
		var n int64
		if err := getopt.Number(&n, 1)(value); err != nil {
			return err
		}
		if n > maxSeconds {
			return fmt.Errorf("%d seconds are more than a month", n)
		}
		*to = time.Duration(n) * time.Second
		return nil
	}
}

func (o *Options) check() error {
	switch {
	case int64(o.Conns) > o.Requests:
		return fmt.Errorf("-c %d is above -n %d", o.Conns, o.Requests)
	case o.Conns > maxConns:
		return fmt.Errorf("-c %d is above %d", o.Conns, maxConns)
	case o.PostFile != "" && o.PutFile != "":
		return errors.New("-p and -u exclude one another")
	case o.Head && (o.Method != "" || o.PostFile != "" || o.PutFile != ""):
		return errors.New("-i is a method: it goes with neither -m nor -p nor -u")
	case o.ContentType != "" && o.PostFile == "" && o.PutFile == "":
		return errors.New("-T is about the body, which -p or -u give")
	}
	_, secure, err := http1.Endpoint(o.URL)
	switch {
	case err != nil:
		return err
	case secure && o.Proxy != "":
		return errors.New("-X: https goes through a proxy by CONNECT, which is not here")
	case o.target().User != nil:
		return errors.New("the URL has credentials, which are given by -A")
	}
	return nil
}

// method is that of the requests.
func (o *Options) method() string {
	usual := "GET"
	switch {
	case o.Head:
		usual = "HEAD"
	case o.PostFile != "":
		usual = "POST"
	case o.PutFile != "":
		usual = "PUT"
	}
	return cmp.Or(o.Method, usual)
}

// Address is where to connect, and whether with TLS: the service, or the proxy.
func (o *Options) Address() (address string, secure bool, err error) {
	if o.Proxy == "" {
		return http1.Endpoint(o.URL)
	}
	if address, _, err = http1.Endpoint(http1.WithScheme(o.Proxy)); err != nil {
		return "", false, fmt.Errorf("-X: %w", err)
	}
	return address, false, nil
}

// String is the method and the URL.
func (o *Options) String() string { return o.method() + " " + o.URL }

// Hide returns a command line without secrets.
func (o *Options) Hide(args []string) []string {
	safe := slices.Clone(args)
	for _, secret := range append([]string{o.Auth, o.ProxyAuth}, o.Cookies...) {
		for i := range safe {
			if secret != "" {
				safe[i] = strings.ReplaceAll(safe[i], secret, "REDACTED")
			}
		}
	}
	return safe
}

// target is the URL taken apart. It has been checked.
func (o *Options) target() *url.URL {
	u, err := url.Parse(o.URL)
	if err != nil {
		return &url.URL{}
	}
	return u
}
