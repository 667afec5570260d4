// Package fencebench holds the goals of bench fence, and measures its contenders:
// the index kinds and other programs' indexes within this process, and `paddock
// fence` and nginx as processes under wrk.
//
// A [Bench] has one scene: the largest set of a directory, with points that vehicles
// report, points that nothing prefers, and points on the fences' own edges. Every
// index must give the same answers to them before it is timed.
package fencebench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/peers"
	"paddock/lab/process"
	"paddock/load/http1"
)

// latencyShare is the part of nginx's maximum at which latencies are taken.
const latencyShare = 0.5

// staticName is the file that nginx serves.
const staticName = "static"

// Bench measures contenders. It belongs to one goroutine.
type Bench struct {
	Paddock string // the program paddock
	Nginx   string // the program nginx, looked for in PATH
	Wrk     string // the program wrk, likewise
	Data    string // directory of GeoJSON files; "" is the simulated city
	Dir     string // for temporary files

	read   *scene
	bodies string // the corpus as a file
	built  map[string]index
	maxima []float64 // requests per second that nginx has reached
}

// scene reads the data, once.
func (b *Bench) scene() (*scene, error) {
	if b.read == nil {
		s, err := newScene(b.Data, b.Dir)
		if err != nil {
			return nil, err
		}
		b.read = s
	}
	return b.read, nil
}

// Describe returns a line about the measured data.
func (b *Bench) Describe() (string, error) {
	s, err := b.scene()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("set %s of %s: %d fences, %d ring edges; %d bodies, SHA-256 %s",
		s.set, s.dir, len(s.fences), s.edges, len(s.corpus.Bodies), s.corpus.Digest()), nil
}

// Measure takes one turn.
func (b *Bench) Measure(ctx context.Context, t harness.Turn) (*measure.Measurement, error) {
	s, err := b.scene()
	if err != nil {
		return nil, err
	}
	switch t.Contender.Operation {
	case opPost, opGet, opEngarde, opOpenPost:
		return b.overHTTP(ctx, s, t)
	}
	return b.withinProcess(ctx, s, t)
}

// withinProcess measures an index.
func (b *Bench) withinProcess(ctx context.Context, s *scene, t harness.Turn) (*measure.Measurement, error) {
	name := t.Contender.Name
	switch t.Contender.Operation {
	case opBuild:
		return s.build(name, t.Options)
	case opMemory:
		return s.memory(name)
	case opFile:
		return s.fromFile(name, t.Options)
	case opSnapshot:
		return s.fromSnapshot(b.Dir, t.Options)
	case opEdit, opAlone:
		m, err := s.edit(ctx, leading, t.Contender.Operation == opAlone, t.Options)
		if err == nil && m.Latency.Count > 0 {
			m.Figures[string(harness.Slowest)] = float64(m.Latency.Max.Nanoseconds()) / 1e3
		}
		return m, err
	}
	x, err := b.index(name)
	if err != nil {
		return nil, err
	}
	points := s.points[pointsOf(t.Goal)]
	switch t.Contender.Operation {
	case opCold:
		return lookUpCold(x, points, t.Options), nil
	case opBatch:
		return batch(x.(ours).snap, points, t.Options), nil
	}
	return lookUp(x, points, t.Options), nil
}

// pointsOf is the sort of points that a goal's name ends with.
func pointsOf(goal string) string {
	_, sort, _ := strings.Cut(goal, "look-up-")
	if slices.Contains([]string{uniform, adversarial}, sort) {
		return sort
	}
	return buses
}

// overHTTP measures a server's process.
func (b *Bench) overHTTP(ctx context.Context, s *scene, t harness.Turn) (m *measure.Measurement, err error) {
	rate := 0.0
	if t.Contender.Operation == opOpenPost {
		if rate, err = b.half(ctx, s, t); err != nil {
			return nil, err
		}
	}
	server, path, err := b.serve(ctx, s, t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	post := t.Contender.Peer == ourPeer && (t.Contender.Operation == opPost || t.Contender.Operation == opOpenPost)
	if t.Contender.Operation == opOpenPost {
		requests, to := new(http1.Arena), http1.Request{URL: "http://" + server.Addr() + path}
		if post {
			to.Method, to.Header = "POST", []http1.Field{{Name: "Content-Type", Value: "application/json"}}
			err = requests.AddBodies(to, s.corpus.Bodies)
		} else {
			err = requests.Add(&to)
		}
		if err != nil {
			return nil, err
		}
		return openLoop(ctx, server, requests, rate, t.Options)
	}
	bodies := ""
	if post {
		if bodies, err = b.bodiesFile(s); err != nil {
			return nil, err
		}
	}
	m, err = webload.Get(ctx, b.Wrk, b.Dir, server, path, bodies, t.Options)
	if err == nil && t.Contender.Peer == nginxPeer {
		perSecond, _ := m.PerSecond()
		b.maxima = append(b.maxima, perSecond)
	}
	return m, err
}

// serve starts the contender's server and returns the URL to ask.
func (b *Bench) serve(ctx context.Context, s *scene, t harness.Turn) (webload.Service, string, error) {
	if t.Contender.Peer == nginxPeer {
		root := filepath.Join(b.Dir, "www")
		if err := peers.WriteStatic(root, staticName, webload.StaticBytes); err != nil {
			return nil, "", err
		}
		n, err := webload.StartNginx(ctx, b.Nginx, root)
		if err != nil {
			return nil, "", err
		}
		return n, "/" + staticName, nil
	}
	path := "/fence/" + url.PathEscape(s.set) + "/search"
	switch t.Contender.Operation {
	case opEngarde:
		path = "/engarde"
	case opGet:
		at := s.corpus.Positions[0]
		path += fmt.Sprintf("?lat=%v&lon=%v&key=old%%20whitney", at.Lat, at.Lon)
	}
	server, err := process.StartFence(ctx, b.Paddock, "--fence", t.Contender.Name, s.dir)
	if err != nil {
		return nil, "", err
	}
	return server, path, nil
}

// half is half of nginx's maximum, which it shows now if it has not run yet.
func (b *Bench) half(ctx context.Context, s *scene, t harness.Turn) (float64, error) {
	if len(b.maxima) == 0 {
		t.Contender = harness.Contender{Name: nginxPeer, Peer: nginxPeer, Operation: opPost}
		if _, err := b.overHTTP(ctx, s, t); err != nil {
			return 0, fmt.Errorf("nginx's maximum: %w", err)
		}
	}
	rates := slices.Sorted(slices.Values(b.maxima))
	return latencyShare * rates[len(rates)/2], nil
}

// bodiesFile writes the corpus once.
func (b *Bench) bodiesFile(s *scene) (string, error) {
	if b.bodies == "" {
		file := filepath.Join(b.Dir, "bodies.jsonl")
		if err := os.WriteFile(file, s.corpus.Text(), 0o600); err != nil {
			return "", err
		}
		b.bodies = file
	}
	return b.bodies, nil
}
