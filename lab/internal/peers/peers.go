// Package peers starts the programs that the original benchmarks measured, and reads their output:
// gofast's perf, ab, goab and GoHTTP, nats-server, gofence and wrk, go-http-tunnel and
// koding/tunnel, and the nginx that some of them asked.
//
// [Find] looks for a program. A service is a [Stand], which its owner stops; a client runs to its
// end and gives [Figures]. Nothing of a peer is part of this program.
package peers

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The peers, by the names of --peer and of their programs in PATH.
const (
	Ab         = "ab"
	Gofast     = "gofast" // perf of gofast
	Gofence    = "gofence"
	Goab       = "goab"
	GoHTTP     = "gohttp"
	Koding     = "koding-tunnel" // see StartKoding
	NATSServer = "nats-server"
	Nginx      = "nginx"
	Tunnel     = "tunnel"  // the client of go-http-tunnel
	Tunneld    = "tunneld" // its server
	Wrk        = "wrk"
)

// origin says how a program is had.
var origin = map[string]string{
	Ab:         "install Debian's package apache2-utils",
	Gofast:     "build perf of github.com/bnclabs/gofast as gofast",
	Gofence:    "build github.com/buckhx/gofence as gofence",
	Goab:       "build goab.go of github.com/natodemon/GoBench as goab",
	GoHTTP:     "build httpserver.go of github.com/natodemon/GoHTTP as gohttp",
	Koding:     "build a program on the library github.com/koding/tunnel that is called as server ADDR HOST TOKEN and client ADDR TARGET TOKEN",
	NATSServer: "install Debian's package nats-server",
	Nginx:      "install Debian's package nginx",
	Tunnel:     "build cmd/tunnel of github.com/mmatczuk/go-http-tunnel",
	Tunneld:    "build cmd/tunneld of github.com/mmatczuk/go-http-tunnel",
	Wrk:        "install Debian's package wrk",
}

// Names returns the names of all peers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(origin)) }

// ErrUnknown is wrapped by errors about a name that is none of a peer's.
var ErrUnknown = errors.New("no such peer")

// Check returns an error that wraps [ErrUnknown] and lists the peers, if given has another name.
func Check(given map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if origin[name] == "" {
			return fmt.Errorf("%q: %w: there are %s", name, ErrUnknown, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// missing is the sentence about a program that is not there. It is [errors.ErrUnsupported].
type missing string

func (m missing) Error() string        { return string(m) }
func (m missing) Is(target error) bool { return target == errors.ErrUnsupported }

// Find returns the path of a peer's program: the one of given, which are the values of --peer by
// name, or the one in PATH, /usr/local/sbin or /usr/sbin. The error for a missing one is
// [errors.ErrUnsupported], and its text is one sentence that says how to get it.
func Find(name string, given map[string]string) (string, error) {
	if err := Check(map[string]string{name: ""}); err != nil {
		return "", err
	}
	if program, ok := given[name]; ok {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", missing(fmt.Sprintf("--peer %s=%s: %v", name, program, err))
		}
		return filepath.Abs(path)
	}
	for _, dir := range []string{"", "/usr/local/sbin", "/usr/sbin"} { // servers are there, which not all users have in PATH
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", missing(fmt.Sprintf("no %s here: %s, or give --peer %s=PATH", name, origin[name], name))
}

// Figures are what a client has printed about its run. A zero is a value that it does not print, or
// that is below its last digit.
type Figures struct {
	Requests   int64         // operations: requests, posts, or messages of streams
	Elapsed    time.Duration // of the run; of gofast, which prints none, the time of its process
	PerSecond  float64       // operations
	Bytes      int64         // received
	Failed     int64         // requests that the client calls failed
	NonSuccess int64         // answers: not 2xx for ab, over 399 for wrk

	Latency     Spread[time.Duration]
	Rate        Spread[float64] // requests a second of a thread of wrk, by intervals of 100 ms
	Percentiles []Percentile    // of the latency, rising
}

// Spread is a row of a table: of latencies or rates.
type Spread[T time.Duration | float64] struct {
	Mean, StdDev, Max T
	Within            float64 // percent of the values within a standard deviation of the mean
}

// Percentile is a latency that a share of the requests does not exceed.
type Percentile struct {
	Percent float64
	Latency time.Duration
}
