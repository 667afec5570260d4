package distributed

import (
	"bytes"
	"compress/zlib"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"paddock/load"
	"paddock/load/http1"
	"paddock/load/http2"
)

// Job is what workers are to do: a plan, and the requests of it.
type Job struct {
	Plan load.Plan
	Rate string // as load.ParseArrivals reads it; "" = closed
	Good string // statuses, as http1.ParseStatuses reads them; "" = those below 400
	// ServerName is that of the service's certificate; "" = no TLS.
	ServerName string
	Insecure   bool // the certificate is not checked
	HTTP2      bool

	Requests []http1.Request
	Bodies   [][]byte          // of the first request, in turns; nil = the requests are as they are
	Files    map[string][]byte // that placeholders name
}

// The bounds of a worker's part of a job.
const (
	maxConns   = 1 << 16
	maxFlight  = 1 << 20 // requests under way: connections by depth
	maxThreads = 1024    // of all workers
	maxLength  = 24 * time.Hour
)

// Codec makes the codec of the job. files reads the files that placeholders name.
func (j *Job) Codec(files http1.Files) (load.Codec, error) {
	if len(j.Requests) == 0 {
		return nil, errors.New("the job has no requests")
	}
	var good *http1.Statuses
	var err error
	if j.Good != "" {
		if good, err = http1.ParseStatuses(j.Good); err != nil {
			return nil, fmt.Errorf("--status: %w", err)
		}
	}
	arena := &http1.Arena{}
	var requests http1.Requests = arena
	if j.Bodies == nil {
		requests, err = http1.Compile(j.Requests, files, j.Plan.Seed)
	} else {
		err = arena.AddBodies(j.Requests[0], j.Bodies)
	}
	if err != nil {
		return nil, err
	}
	if j.HTTP2 {
		scheme, _, _ := strings.Cut(j.Requests[0].URL, ":")
		return &http2.Codec{Requests: requests, Good: good, Scheme: strings.ToLower(scheme)}, nil
	}
	return &http1.Codec{Requests: requests, Good: good}, nil
}

// ReadFile reads a file, and makes it a part of the job.
func (j *Job) ReadFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err == nil {
		if j.Files == nil {
			j.Files = map[string][]byte{}
		}
		j.Files[name] = text
	}
	return text, err
}

// file returns a file of the job, and never one of this machine.
func (j *Job) file(name string) ([]byte, error) {
	text, ok := j.Files[name]
	if !ok {
		return nil, fmt.Errorf("%s is not in the job", name)
	}
	return text, nil
}

// pack returns the job as it is sent.
func (j *Job) pack() ([]byte, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	if len(text) > maxJob {
		return nil, fmt.Errorf("the requests take %d MiB as they are sent to workers, of %d at most", len(text)>>20, maxJob>>20)
	}
	var packed bytes.Buffer
	zip := zlib.NewWriter(&packed)
	_, _ = zip.Write(text) // to memory
	err = zip.Close()
	return packed.Bytes(), err
}

// unpack reads such a job.
func unpack(packed []byte) (*Job, error) {
	zip, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the job: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(zip, maxJob+1))
	if err == nil && len(text) > maxJob {
		err = fmt.Errorf("more than %d MiB", maxJob>>20)
	}
	j := &Job{}
	if err == nil {
		err = json.Unmarshal(text, j)
	}
	if err != nil {
		return nil, fmt.Errorf("the job: %w", err)
	}
	return j, nil
}

// part makes the plan of a worker's part of the job, within the bounds.
func (j *Job) part(a assignment, allow []string) (*load.Plan, error) {
	p := j.Plan
	p.Threads, p.Part, p.Pin, p.Listeners = a.Threads, load.Part{First: a.First, Of: a.Of}, nil, 0
	switch {
	case p.Network != "tcp":
		return nil, fmt.Errorf("the network %q: workers connect over tcp", p.Network)
	case a.Of < 1 || a.Of > maxThreads || a.Threads < 1:
		return nil, fmt.Errorf("%d threads of %d, of %d at most", a.Threads, a.Of, maxThreads)
	case p.Conns > maxConns || p.MaxConns > maxConns || p.Depth > maxConns || max(p.Conns, p.MaxConns)*max(p.Depth, 1) > maxFlight:
		return nil, fmt.Errorf("%d connections, up to %d, of %d requests each: more than a worker makes", p.Conns, p.MaxConns, p.Depth)
	case p.Duration > maxLength || p.Warmup > maxLength || p.Grace > maxLength || p.Timeout > maxLength:
		return nil, fmt.Errorf("a time of more than %v", maxLength)
	}
	if err := allowed(p.Address, allow); err != nil {
		return nil, err
	}
	codec, err := j.Codec(j.file)
	if err != nil {
		return nil, err
	}
	if p.Codec = codec; j.Rate != "" {
		if p.Arrivals, err = load.ParseArrivals(j.Rate, p.Seed); err != nil {
			return nil, err
		}
	}
	if j.ServerName != "" {
		p.TLS = &tls.Config{ServerName: j.ServerName, NextProtos: []string{"http/1.1"}, InsecureSkipVerify: j.Insecure} //nolint:gosec // as the controller says
		if j.HTTP2 {
			http2.Negotiate(p.TLS)
		}
	}
	return &p, p.Check()
}

// allowed refuses a target that is neither in the list nor on loopback. Names are compared as they
// are written.
func allowed(target string, allow []string) error {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost") {
		return nil
	}
	if slices.ContainsFunc(allow, func(a string) bool { return strings.EqualFold(a, target) }) {
		return nil
	}
	return fmt.Errorf("the target %s is not in --allow", target)
}
