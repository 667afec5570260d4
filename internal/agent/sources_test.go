package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/internal/agent/spool"
	"paddock/internal/platform/position"
)

// connectBus returns a NATS client of the agent.
func (r *running) connectBus() *nats.Conn {
	r.t.Helper()
	nc, err := nats.Connect("nats://" + r.BusAddr().String())
	must(r.t, err)
	r.t.Cleanup(nc.Close)
	return nc
}

func TestBusDoor(t *testing.T) {
	p := newPlatform(t)
	a := start(t, p.settings(t.TempDir(), "bus: {listen: \"127.0.0.1:0\"}\n"))
	nc := a.connectBus()
	for i := range 200 {
		must(t, nc.Publish("pos.north.v", fmt.Appendf(nil, `{"lon":1,"lat":2,"t":%d}`, firstTime+i)))
	}
	got := p.await(200)
	sequence(t, got, 200)
	for _, c := range [][3]string{
		{"pos.north.v", `{"lon":1,"lat":2,"t":1700000001000}`, `{"accepted":1,"rejected":[]}`},
		{"pos.north._", `{"lon":1,"lat":2}`, `"rejected":[{"index":0`},
		{"pos.north", `{"lon":1,"lat":2}`, `positions come on pos.<fleet>.<object>`},
		{"pos.north.v", `{"lon"`, `malformed JSON`},
	} {
		m, err := nc.Request(c[0], []byte(c[1]), patience)
		must(t, err)
		if !strings.Contains(string(m.Data), c[2]) {
			t.Errorf("%s %s: %s", c[0], c[1], m.Data)
		}
	}
	if s := a.Status().Sources["bus"]; s.Accepted != 201 || s.Rejected != 3 {
		t.Errorf("%+v", s)
	}
}

// Positions that wait for the disk at the end are kept behind the ones that are on their way there.
func TestBusKeepsOrderAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buffer, err := spool.Open(spool.Options{Dir: t.TempDir()})
		must(t, err)
		defer buffer.Close()
		held, first := make(chan struct{}), true
		b := newLocalBus(nil, &source{spool: buffer, now: func() time.Time {
			if first { // of the first message
				first = false
				<-held
			}
			return time.UnixMilli(firstTime)
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		message := func(n int) bus.Msg {
			return bus.Msg{Subject: "pos.north.v", Data: fmt.Appendf(nil, `{"lon":1,"lat":2,"t":%d}`, firstTime+n)}
		}
		b.takePositions([]bus.Msg{message(0)})
		go func() { done <- b.run(ctx) }()
		synctest.Wait()
		b.takePositions([]bus.Msg{message(1), message(2)})
		go func() {
			done <- b.close(ctx)
			cancel()
		}()
		synctest.Wait()
		close(held)
		must(t, errors.Join(<-done, <-done))
		r := buffer.Reader(1)
		defer r.Close()
		for n := range 3 {
			rec, err := r.Next(t.Context())
			must(t, err)
			p, err := position.Parse(rec.Body)
			must(t, err)
			if p.Time != firstTime+int64(n) {
				t.Errorf("record %d is of %d", rec.Number, p.Time-firstTime)
			}
		}
	})
}

func TestStdin(t *testing.T) {
	p := newPlatform(t)
	in, out := io.Pipe()
	s := p.settings(t.TempDir(), "stdin: true\nobject: v\n")
	a := startWith(t, Options{Settings: s, Stdin: in})
	for i := range 100 {
		_, err := fmt.Fprintf(out, `{"lon":1,"lat":2,"t":%d}`+"\n", firstTime+i)
		must(t, err)
		if i == 50 {
			_, err = io.WriteString(out, "nonsense\n\n"+strings.Repeat("x", 2*maxLine)+"\n")
			must(t, err)
		}
	}
	_, err := fmt.Fprintf(out, `{"lon":1,"lat":2,"t":%d}`, firstTime+100) // without a line end
	must(t, err)
	must(t, out.Close())
	sequence(t, p.await(101), 101)
	late := time.After(patience) // a position is counted once it is on the disk, and may have been delivered already
	for a.Status().Sources["stdin"] != (SourceStatus{Accepted: 101, Rejected: 2}) {
		select {
		case <-late:
			t.Fatalf("%+v", a.Status().Sources["stdin"])
		case <-time.After(time.Millisecond):
		}
	}
}

// A gpsd that hangs up is dialed again; reports without a fix are ignored.
func TestGPSD(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	served := make(chan struct{})
	go func() { // ends with l
		defer close(served)
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			watch, _ := bufio.NewReader(conn).ReadString('\n')
			if !strings.HasPrefix(watch, "?WATCH=") {
				t.Errorf("asked %q", watch)
			}
			_, _ = fmt.Fprintf(conn, `{"class":"VERSION","release":"3.25"}
{"class":"TPV","mode":1,"time":"2023-11-14T22:13:20.000Z"}
{"class":"SKY","satellites":[]}
{"class":"TPV","mode":3,"time":%q,"lat":52.5,"lon":13.4,"eph":4.5,"speed":8.1,"track":359.9,"altMSL":33.5,"alt":30}
`, time.UnixMilli(firstTime+int64(n)).UTC().Format("2006-01-02T15:04:05.000Z"))
			_ = conn.Close()
		}
	}()
	p := newPlatform(t)
	a := start(t, p.settings(t.TempDir(), fmt.Sprintf("object: v\ngpsd: %q\n", l.Addr())))
	sequence(t, p.await(2)[:2], 2)
	a.stop()
	must(t, l.Close())
	<-served
}

// While the clock of the machine is not set, a position needs a time of its own. Lines with one are
// kept.
func TestClockIsNotSet(t *testing.T) {
	buffer, err := spool.Open(spool.Options{Dir: t.TempDir()})
	must(t, err)
	defer buffer.Close()
	clock := time.UnixMilli(12_345)
	s := &source{spool: buffer, object: "v", now: func() time.Time { return clock }}
	const untimed = `{"lon":1,"lat":2}`
	const both = untimed + "\n" + `{"lon":1,"lat":2,"t":1700000000000}`
	counts := func() [3]uint64 { return [3]uint64{s.accepted.Load(), s.rejected.Load(), s.refused.Load()} }
	dec := s.decoder()
	if _, err := s.take(&dec, []byte(both)); !errors.Is(err, errClock) || intakeProblem(err).Status != http.StatusServiceUnavailable {
		t.Errorf("%v", err)
	}
	if got := counts(); got != [3]uint64{0, 0, 2} {
		t.Errorf("%v", got)
	}
	b := &localBus{source: s}
	b.keep(bus.Msg{Subject: "pos.north.v", Data: []byte(untimed)})
	if got := counts(); got != [3]uint64{0, 0, 3} {
		t.Errorf("%v", got)
	}
	must(t, s.readLines(t.Context(), strings.NewReader(both)))
	if got := counts(); got != [3]uint64{1, 0, 4} {
		t.Errorf("%v", got)
	}
	clock = time.UnixMilli(firstTime)
	must(t, s.readLines(t.Context(), strings.NewReader(both)))
	if got := counts(); got != [3]uint64{3, 0, 4} {
		t.Errorf("%v", got)
	}
}

// Lines that wait for room in the buffer are not refused, however often they are offered to it.
func TestWaitingLinesAreNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buffer, err := spool.Open(spool.Options{Dir: t.TempDir(), MaxBytes: spool.MinBytes, Refuse: true})
		must(t, err)
		defer buffer.Close()
		for err == nil {
			_, err = buffer.Append(make([]byte, 10_000))
		}
		s := &source{spool: buffer, object: "v", now: time.Now}
		refused := func() [2]uint64 { return [2]uint64{s.refused.Load(), buffer.Stats().Refused} }
		before := refused()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		line := `{"lon":1,"lat":2,"props":{"x":"` + strings.Repeat("x", 10_000) + `"}}`
		ended := make(chan error, 1)
		go func() { ended <- s.readLines(ctx, strings.NewReader(line)) }()
		time.Sleep(10 * fullRetry)
		if now := refused(); now != before {
			t.Errorf("refused %d, before %d", now, before)
		}
		must(t, buffer.Ack(buffer.Last()))
		must(t, <-ended)
		if s.accepted.Load() != 1 {
			t.Errorf("accepted %d", s.accepted.Load())
		}
	})
}
