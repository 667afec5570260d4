package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock/lab/process"
)

const (
	// burstMemory is how much more than before a burst the process may have, in bytes,
	// while the burst goes on and burstRest after it.
	burstMemory = 256 << 20
	burstRest   = 10 * time.Second
	// burstWait is how long the position of another vehicle should wait at most, while a
	// set changes. It is printed, not asserted.
	burstWait = 50 * time.Millisecond

	burstTimeout = 10 * time.Minute
)

// TestBursts sends what causes very many events, and prints how much memory that takes
// and how long the positions of another vehicle wait meanwhile.
func TestBursts(t *testing.T) {
	if os.Getenv("PADDOCK_BURSTS") == "" || runtime.GOOS != "linux" {
		t.Skip("minutes of work: make bursts")
	}
	for _, b := range []struct {
		name string
		run  func(t *testing.T, p *burst)
	}{
		{"4,000 positions in and out of 1,000 fences, by HTTP", func(t *testing.T, p *burst) {
			p.put("many", concentric(1000, ""))
			p.measure(func() { p.post(inAndOut(16, 4000)) })
		}},
		{"the same as one bus message without reply", func(t *testing.T, p *burst) {
			p.put("many", concentric(1000, ""))
			p.measure(func() {
				p.publish(inAndOut(16, 4000))
				p.untilQuiet()
			})
		}},
		{"6,700 positions in and out of a fence with 300 kB of properties", func(t *testing.T, p *burst) {
			p.put("large", concentric(1, strings.Repeat("x", 300_000)))
			p.measure(func() { p.post(inAndOut(16, 6700)) })
		}},
		{"a set with 400,000 objects inside goes, and comes", func(t *testing.T, p *burst) {
			set := concentric(1, "")
			p.put("one", set)
			for i := range 40 {
				p.post(parked(i*10_000, 10_000))
			}
			p.measure(func() {
				p.do(http.MethodDelete, "v1/sets/one", nil)
				p.untilQuiet()
				p.put("one", set)
				p.untilQuiet()
			})
		}},
		{"8,000 positions through 100 fences, for two bus subscribers", func(t *testing.T, p *burst) {
			p.put("some", concentric(100, ""))
			var got [2]atomic.Int64
			for i := range got {
				p.subscribe(&got[i])
			}
			const want = (8000 - 16) * 100 // the first fix of an object is no event
			p.measure(func() {
				p.post(inAndOut(16, 8000))
				p.until("all events", func() bool { return got[0].Load() >= want && got[1].Load() >= want })
			})
			if got[0].Load() != want || got[1].Load() != want {
				t.Errorf("%d and %d events came, want %d", got[0].Load(), got[1].Load(), want)
			}
		}},
		{"SIGTERM in the midst of it", func(t *testing.T, p *burst) {
			p.put("many", concentric(1000, ""))
			for range 4 {
				p.publish(inAndOut(16, 4000))
			}
			p.until("events", func() bool { return p.events() > 1000 })
			began := time.Now()
			p.terminate(t)
			t.Logf("ended after %.1f s", time.Since(began).Seconds())
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), burstTimeout)
			defer cancel()
			p := &burst{upProcess: startUpAs(t, programFor(t, burstTimeout, "up", "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")), t: t, ctx: ctx}
			b.run(t, p)
		})
	}
}

// burst is a platform under a burst.
type burst struct {
	*upProcess
	t   *testing.T
	ctx context.Context
}

// measure runs the burst and prints its time and memory.
func (p *burst) measure(run func()) {
	p.t.Helper()
	before := p.resident()
	watch, done, ended := process.NewWatch(p.Process.Pid), make(chan struct{}), make(chan struct{})
	waits := make(chan time.Duration, 1)
	go p.probe(done, waits)
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			watch.Look()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	began := time.Now()
	run()
	took := time.Since(began)
	close(done)
	<-ended
	_, most := watch.Last()
	longest := <-waits
	rest := time.NewTimer(burstRest)
	<-rest.C
	peak, after := most[0].Resident-before, p.resident()-before
	p.t.Logf("took %.1f s; memory %.0f MB before, %+.0f MB at most, %+.0f MB %v after; another vehicle's position waited %.0f ms at most (aim %v)",
		took.Seconds(), mb(before), mb(peak), mb(after), burstRest, float64(longest)/1e6, burstWait)
	if peak > burstMemory || after > burstMemory/2 {
		p.t.Errorf("%.0f MB more at most, %.0f MB more after %v: the bounds are %.0f and %.0f",
			mb(peak), mb(after), burstRest, mb(burstMemory), mb(burstMemory/2))
	}
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func (p *burst) resident() int64 {
	use, err := process.Read(p.Process.Pid)
	if err != nil {
		p.t.Fatal(err)
	}
	return use.Resident
}

// probe posts a vehicle's positions one after the other and tells how long the slowest
// took.
func (p *burst) probe(done <-chan struct{}, waits chan<- time.Duration) {
	var longest time.Duration
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		began := time.Now()
		if err := p.try(http.MethodPost, "v1/positions", []byte(`{"id":"probe","lon":50,"lat":50}`)); err != nil {
			p.t.Errorf("another vehicle's position: %v", err)
		}
		longest = max(longest, time.Since(began))
		select {
		case <-tick.C:
		case <-done:
			waits <- longest
			return
		}
	}
}

func (p *burst) try(method, path string, body []byte) error {
	req, err := http.NewRequestWithContext(p.ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.200s", method, path, res.Status, text)
	}
	return err
}

func (p *burst) do(method, path string, body []byte) {
	p.t.Helper()
	if err := p.try(method, path, body); err != nil {
		p.t.Fatal(err)
	}
}

func (p *burst) put(set string, body []byte) {
	p.t.Helper()
	p.do(http.MethodPut, "v1/sets/"+set, body)
}

func (p *burst) post(body []byte) { p.t.Helper(); p.do(http.MethodPost, "v1/positions", body) }

// publish sends the positions as one message of a NATS client.
func (p *burst) publish(body []byte) {
	p.t.Helper()
	conn := p.dialBus()
	fmt.Fprintf(conn, "PUB pos._._ %d\r\n%s\r\nPING\r\n", len(body), body)
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			p.t.Fatal(err)
		}
		if line == "PONG\r\n" {
			return
		}
	}
}

func (p *burst) dialBus() net.Conn {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.bus, "nats://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "CONNECT {\"verbose\":false}\r\n")
	return conn
}

// subscribe counts the events that a NATS client gets, until its connection ends.
func (p *burst) subscribe(got *atomic.Int64) {
	p.t.Helper()
	conn := p.dialBus()
	fmt.Fprint(conn, "SUB fence.> 1\r\nPING\r\n")
	ready := make(chan struct{})
	go func() {
		for r := bufio.NewReaderSize(conn, 1<<20); ; {
			line, err := r.ReadSlice('\n')
			var size int
			switch {
			case err != nil:
				return
			case bytes.HasPrefix(line, []byte("PONG")):
				close(ready)
			case bytes.HasPrefix(line, []byte("PING")):
				fmt.Fprint(conn, "PONG\r\n")
			case bytes.HasPrefix(line, []byte("MSG")):
				fmt.Sscan(string(line[bytes.LastIndexByte(line, ' ')+1:]), &size)
				if _, err := r.Discard(size + 2); err != nil {
					return
				}
				got.Add(1)
			}
		}
	}()
	<-ready
}

// events returns how many events the platform has published.
func (p *burst) events() (n float64) {
	p.t.Helper()
	res, err := http.Get(p.url + "metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "paddock_events_total{") {
			var more float64
			fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &more)
			n += more
		}
	}
	return n
}

// until waits until a condition holds.
func (p *burst) until(what string, holds func() bool) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			p.t.Fatalf("no %s", what)
		}
	}
}

// untilQuiet waits until no events have come for half a second.
func (p *burst) untilQuiet() {
	p.t.Helper()
	last, calm := -1.0, 0
	p.until("end of the events", func() bool {
		n := p.events()
		if calm++; n != last {
			last, calm = n, 0
		}
		return calm > 25
	})
}

// concentric returns a set of n squares around 0, 0, with a property.
func concentric(n int, property string) []byte {
	b := []byte(`{"type":"FeatureCollection","features":[`)
	for i := range n {
		r := 1 + float64(i)/1e4
		b = fmt.Appendf(b, `{"type":"Feature","id":"f%d","properties":{"p":"%s"},"geometry":{"type":"Polygon","coordinates":[[[%g,%g],[%g,%g],[%g,%g],[%g,%g],[%g,%g]]]}},`,
			i, property, -r, -r, r, -r, r, r, -r, r, -r, -r)
	}
	return append(bytes.TrimSuffix(b, []byte{','}), `]}`...)
}

// inAndOut returns n positions of so many vehicles, by turns inside and outside.
func inAndOut(vehicles, n int) []byte {
	b := []byte{'['}
	at := time.Now().UnixMilli() - int64(n)
	for i := range n {
		lon := (i / vehicles % 2) * 9
		b = fmt.Appendf(b, `{"id":"v%d","lon":%d,"lat":0,"t":%d},`, i%vehicles, lon, at+int64(i))
	}
	return append(bytes.TrimSuffix(b, []byte{','}), ']')
}

// parked returns a position inside for each of n vehicles.
func parked(from, n int) []byte {
	b := []byte{'['}
	for i := range n {
		b = fmt.Appendf(b, `{"id":"c%d","lon":0.5,"lat":0.5},`, from+i)
	}
	return append(bytes.TrimSuffix(b, []byte{','}), ']')
}
