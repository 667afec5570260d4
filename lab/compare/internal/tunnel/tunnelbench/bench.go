// Package tunnelbench holds the goals of bench tunnel: our tunnel beside rathole and OpenSSH, each
// a server's process and a client's, with nginx behind it and wrk before it. The comparison is of
// the processor time of both processes for a request.
package tunnelbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/peers"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/internal/sitecorpus"
	"paddock/lab/process"
)

// Bench measures contenders. It belongs to one goroutine.
type Bench struct {
	// The programs; those of others are looked for in PATH.
	Paddock, Nginx, Wrk, Rathole, SSH, SSHD string

	Dir string // for temporary files
}

// stand is the setup between a visitor and nginx.
type stand struct {
	front string // host:port
	pids  webload.Processes
	stop  func() error
}

// Describe lists the programs of the machine that take part.
func (b *Bench) Describe() (string, error) {
	subject := "the corpus has the sha256 " + sitecorpus.Digest(sitecorpus.Make())
	if missing := programs.Missing(b.Wrk, b.Nginx, b.Rathole, b.SSH, b.SSHD); missing != "" {
		subject += "; not here, and left out: " + missing
	}
	return subject, nil
}

// Measure takes one turn.
func (b *Bench) Measure(ctx context.Context, t harness.Turn) (m *measure.Measurement, err error) {
	size, alone := strings.CutSuffix(string(t.Contender.Operation), patient)
	root := filepath.Join(b.Dir, "www")
	path, err := content(root, size)
	if err != nil {
		return nil, err
	}
	nginx, err := webload.StartNginx(ctx, b.Nginx, root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, nginx.Stop()) }()
	s, err := b.start(ctx, t.Contender.Name, nginx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	conns := webload.Conns
	if alone {
		conns = 1
	}
	if t.Profile != "" {
		stop, failed := profile(t.Profile+".perf", s.pids.Tree())
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	m, err = b.wrk(ctx, s, path, conns, t.Options)
	if err != nil {
		return nil, err
	}
	resident := 0.0
	for _, pid := range s.pids.Tree() {
		use, err := process.Read(pid)
		if err != nil {
			return nil, err
		}
		resident += float64(use.MaxResident)
	}
	m.Figures = map[string]float64{string(harness.Resident): resident}
	return m, nil
}

// start puts a contender up before a service, and returns when it has brought an answer.
func (b *Bench) start(ctx context.Context, contender string, behind *peers.Stand) (*stand, error) {
	target := behind.Addr()
	switch contender {
	case direct:
		return &stand{front: target, pids: webload.Processes{behind.Pid()}, stop: func() error { return nil }}, nil
	case rathole, ratholeTLS, ratholeNoise:
		return b.rathole(ctx, contender, target)
	case ssh:
		return b.ssh(ctx, target)
	case ourPlain, ourTCP, ourHTTP, ourDirect, ourDirectTLS:
		return b.ours(ctx, contender, target)
	}
	return nil, fmt.Errorf("no contender %q", contender)
}

// ours is paddock's.
func (b *Bench) ours(ctx context.Context, contender, target string) (*stand, error) {
	o := tunneled.Options{Program: b.Paddock, Target: target, TCP: contender != ourHTTP, Plain: contender == ourPlain || contender == ourDirect}
	if contender == ourDirect || contender == ourDirectTLS {
		o.Connect = []string{"--mode", "direct"}
	}
	x, err := tunneled.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &stand{front: x.Front, pids: webload.Processes{x.Server(), x.Client()}, stop: x.Stop}, nil
}

// content writes the requested file, and returns its path; the corpus has none.
func content(root, size string) (path string, err error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	n, err := tunneled.Bytes(size)
	if err != nil {
		return "", err
	}
	if n > 0 {
		return "/" + size, peers.WriteStatic(root, size, n)
	}
	for i, f := range sitecorpus.Make() {
		if err := os.WriteFile(filepath.Join(root, strconv.Itoa(i)), f.Body, 0o644); err != nil {
			return "", err
		}
	}
	return "", nil
}

// wrk runs it against a stand, after a warm-up, and counts the processor time of the stand's
// processes. path "" is the corpus.
func (b *Bench) wrk(ctx context.Context, s *stand, path string, conns int, o measure.Options) (*measure.Measurement, error) {
	script, err := peers.WriteWrkScript(b.Dir)
	if err != nil {
		return nil, err
	}
	var tail []string
	if path == "" {
		path, tail = "/0", []string{"--", "files", strconv.Itoa(sitecorpus.Files)}
	}
	args := append([]string{"-H", "Host: " + tunneled.Host, "http://" + s.front + path}, tail...)
	w := webload.Wrk{Program: b.Wrk, Load: s.pids, Conns: conns, Script: script, Args: args}
	return w.Measure(ctx, o)
}
