package durable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/fence"
	"paddock/internal/platform/position"
	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
	"paddock/lab/process"
)

// mode is a platform that keeps a journal, none, or that of a cluster, with its load and its
// figures.
type mode struct {
	*doors.Platform
	b      *bench
	name   string
	data   string // directory; "" = none
	fleets []*doors.Fleet
	single doors.Vehicle // of the HTTP client

	rounds  []window
	singles []time.Duration // of all rounds
	each    []float64       // median of each round, in µs
	syncs   []float64       // that of the disk
	sent    int64           // positions that were acknowledged, by wire and HTTP
}

// probeEvery is the number of exchanges over HTTP after which the disk is measured.
const probeEvery = 10

// The names of the modes.
const (
	durable  = "durable"
	volatile = "volatile"
	clusters = "cluster"
)

// startMode starts a platform, and sends every object once.
func (b *bench) startMode(ctx context.Context, name string) (m *mode, err error) {
	m = &mode{b: b, name: name, fleets: b.places.Fleets(b.Objects, b.Conns)}
	data := "off"
	if name != volatile {
		data = filepath.Join(b.root, name)
		m.data = data
	}
	m.single = b.places.Fleets(1, 1)[0].Vehicles[0]
	m.single.ID = "single"
	var args []string
	if b.Profile != "" && name == b.profiled() {
		args = append(args, "--profile")
	}
	service := b.service
	if name == clusters {
		args = append(args, "--bus", b.Bus, "--node", "bench")
		service.Sets = ""
	}
	if m.Platform, err = service.Start(ctx, data, args...); err != nil {
		return nil, err
	}
	if name == clusters {
		if err := m.putSets(ctx); err != nil {
			return nil, errors.Join(err, m.End(ctx))
		}
	}
	b.Say("%s: %d objects", m.name, b.Objects)
	_, err = b.sender.Wire(ctx, m.Wire, m.fleets, doors.Load{Positions: b.Objects})
	if err == nil {
		_, err = b.sender.Wire(ctx, m.Wire, m.fleets, doors.Load{Length: min(warmup, b.Duration)})
	}
	if err != nil {
		return nil, errors.Join(err, m.End(ctx))
	}
	return m, nil
}

// putSets gives a node the sets of [fence.LoadDir], which come over the API there. The first
// request waits until it leads.
func (m *mode) putSets(ctx context.Context) error {
	entries, err := os.ReadDir(m.b.Sets)
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), "json") {
			err = errors.Join(err, m.putSet(ctx, e.Name()))
		}
	}
	return err
}

func (m *mode) putSet(ctx context.Context, file string) error {
	text, err := os.ReadFile(filepath.Join(m.b.Sets, file))
	if err != nil {
		return err
	}
	url := fmt.Sprintf("http://%s/v1/sets/%s", m.HTTP, fence.Slug(strings.TrimSuffix(file, filepath.Ext(file))))
	_, _, err = process.Ask(ctx, http.MethodPut, url, nil, text)
	return err
}

// measure makes the load of a round: by wire, then by HTTP.
func (m *mode) measure(ctx context.Context, round int) error {
	profiled := make(chan error, 1)
	if m.b.Profile != "" && m.name == m.b.profiled() && round == 0 {
		go func() { profiled <- m.profile(ctx) }()
	} else {
		profiled <- nil
	}
	fed, grown, err := m.Measure(ctx, func(ctx context.Context) (doors.Window, error) {
		return m.b.sender.Wire(ctx, m.Wire, m.fleets, doors.Load{Length: m.b.Duration})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	w := window{Window: fed, Reading: grown}
	m.rounds = append(m.rounds, w)
	if err := <-profiled; err != nil {
		return err
	}
	syncs := len(m.b.disk.times)
	times, err := m.oneByOne(ctx, m.b.Duration/5)
	if err != nil {
		return fmt.Errorf("%s, HTTP: %w", m.name, err)
	}
	m.syncs = append(m.syncs, results.NewTimes(slices.Clone(m.b.disk.times[syncs:])).P50)
	m.singles = append(m.singles, times...)
	m.each = append(m.each, results.NewTimes(times).P50)
	return nil
}

// window is the figures of a load on a platform.
type window struct {
	doors.Window
	doors.Reading // what has grown
}

// oneByOne posts one position after the other over one HTTP connection, each when the one before it
// is answered. After some of them it measures the disk, which is idle then.
func (m *mode) oneByOne(ctx context.Context, length time.Duration) (times []time.Duration, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", m.HTTP)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	in := bufio.NewReader(c)
	f := doors.Fleet{Vehicles: []doors.Vehicle{m.single}}
	var p position.Position
	for end := time.Now().Add(length); time.Now().Before(end) || len(times) < probeEvery; {
		f.Step(doors.Now(), &p)
		body := fmt.Appendf(nil, `{"id":%q,"t":%d,"lon":%.7f,"lat":%.7f}`, p.ID, p.Time, p.Lon, p.Lat)
		request := fmt.Appendf(nil, "POST /v1/positions HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", m.HTTP, len(body), body)
		begun := time.Now()
		if err := exchange(c, in, request); err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		times = append(times, time.Since(begun))
		if len(times)%probeEvery == 0 {
			if err := m.b.disk.probe(probeEvery / 2); err != nil {
				return nil, err
			}
		}
	}
	m.single = f.Vehicles[0]
	m.sent += int64(len(times))
	return times, nil
}

// exchange sends a request, and reads its answer, which must be 200.
func exchange(c net.Conn, in *bufio.Reader, request []byte) error {
	if err := c.SetDeadline(time.Now().Add(doors.AnswerWithin)); err != nil {
		return err
	}
	if _, err := c.Write(request); err != nil {
		return err
	}
	return doors.ReadAnswer(c, in)
}

// profile writes a profile of the platform's processor time, taken in a round.
func (m *mode) profile(ctx context.Context) error {
	seconds := max(1, int(m.b.Duration.Seconds()))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+doors.AnswerWithin)
	defer cancel()
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", m.HTTP, seconds)
	_, text, err := process.Ask(ctx, http.MethodGet, url, nil, nil)
	if err != nil {
		return err
	}
	return os.WriteFile(m.b.Profile, text, 0o666)
}

func (m *mode) note() {
	f := newFeed(m.name, m.rounds)
	m.b.report.addFeed(f)
	h := &HTTP{Name: m.name, Times: *results.NewTimes(m.singles), rounds: m.each, syncs: m.syncs}
	m.b.report.addHTTP(h)
}

// stop ends the platform, and counts the bytes of its files.
func (m *mode) stop(ctx context.Context) error {
	if err := m.End(ctx); err != nil || ctx.Err() != nil || m.name != durable {
		return err
	}
	positions := int64(m.b.Objects) + m.sent
	var events int64
	for _, w := range m.rounds {
		positions += w.Positions
		events += w.Events
	}
	files, bytes, err := doors.Files(m.data)
	if err != nil {
		return err
	}
	m.b.report.Files = &Files{Positions: positions, Files: files, Bytes: bytes, PerPosition: float64(bytes) / float64(positions)}
	return nil
}
