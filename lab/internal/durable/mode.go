package durable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/internal/platform/position"
	"paddock/lab/process"
)

// mode is a platform that keeps a journal, or none, with its load and its figures.
type mode struct {
	*platform
	b      *bench
	name   string
	data   string // directory; "" = none
	fleets []*fleet
	single vehicle // of the HTTP client

	rounds []window
	http   []time.Duration // of all rounds
	each   []float64       // median of each round, in µs
	syncs  []float64       // that of the disk
	sent   int64           // positions that were acknowledged, by wire and HTTP
}

// probeEvery is the number of exchanges over HTTP after which the disk is measured.
const probeEvery = 10

// The names of the modes.
const (
	durable  = "durable"
	volatile = "volatile"
)

// startMode starts a platform, and sends every object once.
func (b *bench) startMode(ctx context.Context, kept bool) (m *mode, err error) {
	m = &mode{b: b, name: volatile, fleets: b.places.fleets(b.Objects, b.Conns)}
	data := "off"
	if kept {
		data = filepath.Join(b.root, durable)
		m.name, m.data = durable, data
	}
	m.single = b.places.fleets(1, 1)[0].vehicles[0]
	m.single.id = "single"
	var args []string
	if b.Profile != "" && kept {
		args = append(args, "--profile")
	}
	if m.platform, err = b.start(ctx, data, args...); err != nil {
		return nil, err
	}
	b.say("%s: %d objects", m.name, b.Objects)
	_, err = b.feed(ctx, m.wire, m.fleets, load{positions: b.Objects})
	if err == nil {
		_, err = b.feed(ctx, m.wire, m.fleets, load{length: min(warmup, b.Duration)})
	}
	if err != nil {
		return nil, errors.Join(err, m.end(ctx))
	}
	return m, nil
}

// measure makes the load of a round: by wire, then by HTTP.
func (m *mode) measure(ctx context.Context, round int) error {
	profiled := make(chan error, 1)
	if m.b.Profile != "" && m.data != "" && round == 0 {
		go func() { profiled <- m.profile(ctx) }()
	} else {
		profiled <- nil
	}
	before, err := m.reading(ctx)
	if err != nil {
		return err
	}
	w, err := m.b.feed(ctx, m.wire, m.fleets, load{length: m.b.Duration})
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	after, err := m.reading(ctx)
	if err != nil {
		return err
	}
	if got := after.accepted - before.accepted; got != w.positions {
		return fmt.Errorf("%s: %d positions were acknowledged, and %d accepted", m.name, w.positions, got)
	}
	w.cpu, w.written, w.events = after.cpu-before.cpu, after.written-before.written, after.events-before.events
	w.records, w.appending = after.records-before.records, after.appending-before.appending
	m.rounds = append(m.rounds, w)
	if err := <-profiled; err != nil {
		return err
	}
	syncs := len(m.b.disk.times)
	times, err := m.oneByOne(ctx, m.b.Duration/5)
	if err != nil {
		return fmt.Errorf("%s, HTTP: %w", m.name, err)
	}
	m.syncs = append(m.syncs, newTimes(slices.Clone(m.b.disk.times[syncs:])).P50)
	m.http = append(m.http, times...)
	m.each = append(m.each, newTimes(times).P50)
	return nil
}

// reading is the counters of a platform at a moment.
type reading struct {
	accepted, events, written, records int64
	appending, cpu                     time.Duration
}

func (m *mode) reading(ctx context.Context) (r reading, err error) {
	counters, err := m.counters(ctx)
	if err != nil {
		return r, err
	}
	r.accepted = int64(counters[`paddock_track_updates_total{result="accepted"}`])
	for name, n := range counters {
		if strings.HasPrefix(name, "paddock_events_total{") {
			r.events += int64(n)
		}
	}
	r.records = int64(counters["paddock_journal_append_seconds_count"])
	r.appending = time.Duration(counters["paddock_journal_append_seconds_sum"] * float64(time.Second))
	r.written = written(m.Pid())
	use, err := process.Read(m.Pid())
	r.cpu = use.CPU
	return r, err
}

// oneByOne posts one position after the other over one HTTP connection, each when the one before it
// is answered. After some of them it measures the disk, which is idle then.
func (m *mode) oneByOne(ctx context.Context, length time.Duration) (times []time.Duration, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", m.platform.http)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	in := bufio.NewReader(c)
	f := fleet{vehicles: []vehicle{m.single}}
	var p position.Position
	for end := time.Now().Add(length); time.Now().Before(end) || len(times) < probeEvery; {
		f.step(millis(), &p)
		body := fmt.Appendf(nil, `{"id":%q,"t":%d,"lon":%.7f,"lat":%.7f}`, p.ID, p.Time, p.Lon, p.Lat)
		request := fmt.Appendf(nil, "POST /v1/positions HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", m.platform.http, len(body), body)
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
	m.single = f.vehicles[0]
	m.sent += int64(len(times))
	return times, nil
}

// exchange sends a request, and reads its answer, which must be 200.
func exchange(c net.Conn, in *bufio.Reader, request []byte) error {
	if err := c.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return err
	}
	if _, err := c.Write(request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s", answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// profile writes a profile of the platform's processor time, taken in a round.
func (m *mode) profile(ctx context.Context) error {
	seconds := max(1, int(m.b.Duration.Seconds()))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+answerWithin)
	defer cancel()
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", m.platform.http, seconds)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: answer %d", url, response.StatusCode)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(m.b.Profile, text, 0o666)
}

func (m *mode) note() {
	f := newFeed(m.name, m.rounds)
	m.b.report.addFeed(f)
	h := &HTTP{Name: m.name, Times: *newTimes(m.http), rounds: m.each, syncs: m.syncs}
	m.b.report.addHTTP(h)
}

// stop ends the platform, and counts the bytes of its files.
func (m *mode) stop(ctx context.Context) error {
	if err := m.end(ctx); err != nil || ctx.Err() != nil || m.data == "" {
		return err
	}
	positions := int64(m.b.Objects) + m.sent
	var events int64
	for _, w := range m.rounds {
		positions += w.positions
		events += w.events
	}
	files, bytes, err := sizeOf(m.data)
	if err != nil {
		return err
	}
	m.b.report.Files = &Files{Positions: positions, Files: files, Bytes: bytes, PerPosition: float64(bytes) / float64(positions)}
	return nil
}

// sizeOf returns the number and the bytes of the files below a directory.
func sizeOf(dir string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			bytes += info.Size()
		}
		return err
	})
	return files, bytes, err
}

// client makes the few requests that are not measured one by one, each over a connection of its
// own.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}, Timeout: answerWithin}

// get returns an answer.
func get(ctx context.Context, host, path string) (status int, header http.Header, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return 0, nil, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(text), err
}
