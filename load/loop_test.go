package load

import (
	"io"
	"slices"
	"testing"
	"time"
)

// desk is a transport without I/O: it accepts up to room bytes in all.
type desk struct {
	room, writes int
}

func (*desk) dial(*conn) {}

func (*desk) hangUp(*conn) {}

func (d *desk) write(_ *conn, b []byte) (int, error) {
	d.writes++
	n := min(len(b), d.room)
	d.room -= n
	return n, nil
}

// atDesk is a loop of a plan, at a desk with much room.
func atDesk(t testing.TB, plan Plan) (*loop, *desk) {
	t.Helper()
	plan.Address = "desk"
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	d := &desk{room: 1 << 40}
	l := newLoop(&plan, d, 0, 1)
	l.start(0)
	return l, d
}

// A request in flight counts from its send, also if a connection that is made, or becomes writable,
// sends before any other event.
func TestRequestsUnderWayCountFromTheirSend(t *testing.T) {
	const second = int64(time.Second)
	l, d := atDesk(t, Plan{Codec: &Raw{Request: []byte("ask"), Answer: 3}, Conns: 3, Depth: 2, Duration: time.Minute})
	l.connected(l.conns[0], 0, nil) // sends two
	l.connected(l.conns[1], second, nil)
	d.room = 3
	l.connected(l.conns[2], 2*second, nil) // half of its output does not fit: it is in flight all the same
	if want := float64(2*second + 4*second); l.area != want {
		t.Errorf("%.0f requests ns, want %.0f", l.area, want)
	}
	l.writable(l.conns[2], 3*second)
	if want := float64(2*second + 4*second + 6*second); l.area != want || l.inFlight != 6 {
		t.Errorf("%.0f requests ns, want %.0f; %d under way", l.area, want, l.inFlight)
	}
}

// Requests that have no answer are done when they are written, and make room for the next:
// a loop comes back from that all the same, and goes on at once.
func TestRequestsWithoutAnswersLetTheLoopGoOn(t *testing.T) {
	l, d := atDesk(t, Plan{Codec: &Raw{Request: []byte("tell")}, Conns: 4, Duration: time.Minute})
	d.room = 4000 // which would end it at last
	for _, c := range l.conns {
		l.connected(c, 1, nil)
	}
	d.writes, d.room = 0, 4000
	l.tick(2)
	if d.writes == 0 || d.writes > len(l.conns) {
		t.Errorf("%d writes in a turn of %d connections", d.writes, len(l.conns))
	}
	if at := l.deadline(); at > 2 {
		t.Errorf("the next turn is at %d, and there is something to write", at)
	}
}

// A request without an answer in time takes its connection from those behind it, which have not
// waited for as long: they have no times.
func TestTimeoutEndsThoseBehind(t *testing.T) {
	const second = int64(time.Second)
	l, _ := atDesk(t, Plan{
		Codec: &Raw{Request: []byte("ask"), Answer: 3}, Conns: 1, Depth: 8, Duration: time.Minute,
		Arrivals: Constant{PerSecond: 1}, Timeout: 2500 * time.Millisecond,
	})
	l.connected(l.conns[0], 0, nil)
	l.tick(second)
	l.tick(2 * second)
	l.expire(l.conns[0], 2600*int64(time.Millisecond))
	if v := l.rec; v.Sent != 3 || v.Failed[ClassTimeout] != 1 || v.Failed[ClassClosed] != 2 || v.Response.Count() != 1 || v.Service.Count() != 1 {
		t.Errorf("%d sent, %v, %d response times", v.Sent, v.Failed, v.Response.Count())
	}
}

// An open run gives a connection no more requests than the plan says either, with several of them
// on their way at once.
func TestPerConnOfAnOpenRun(t *testing.T) {
	l, _ := atDesk(t, Plan{
		Codec: &Raw{Request: []byte("ask"), Answer: 3}, Conns: 1, Depth: 4, PerConn: 2, Duration: time.Minute,
		Arrivals: Constant{PerSecond: 1000},
	})
	c := l.conns[0]
	l.connected(c, 0, nil)
	for _, sent := range []int64{2, 4} {
		l.tick(4 * int64(time.Millisecond))
		if c.began != 2 || l.rec.Sent != sent {
			t.Errorf("%d requests on the connection, %d sent", c.began, l.rec.Sent)
		}
		l.received(c, 5*int64(time.Millisecond), make([]byte, 6), 6)
		if c.state != stateDialing || l.rec.Failed != [Classes]int64{ClassOK: sent} {
			t.Errorf("state %d, %v", c.state, l.rec.Failed)
		}
		l.connected(c, 6*int64(time.Millisecond), nil)
	}
}

// A pause ends with its connection, and neither bytes that are no answer nor a write of what is no
// request begin another.
func TestPausesOfAConnectionThatEnds(t *testing.T) {
	const second = int64(time.Second)
	l, _ := atDesk(t, Plan{Codec: &Raw{Request: []byte("ask"), Answer: 3}, Conns: 1, Duration: time.Minute, Think: 10 * time.Second})
	c := l.conns[0]
	answer := []byte("now")
	l.connected(c, 0, nil)
	l.received(c, second, answer, 3)
	l.ended(c, 5*second, io.EOF)
	l.connected(c, 5*second, nil) // which sends
	l.received(c, 6*second, answer, 3)
	for _, at := range []struct{ second, sent int64 }{{11, 2}, {15, 2}, {16, 3}, {17, 3}} {
		l.tick(at.second * second)
		if l.rec.Sent != at.sent {
			t.Errorf("%d requests after %d s, want %d", l.rec.Sent, at.second, at.sent)
		}
	}
	l.received(c, 18*second, answer, 3)
	l.received(c, 20*second, nil, 0)
	c.out = append(c.out, "pong"...)
	l.write(c, 22*second)
	for _, at := range []struct{ second, sent int64 }{{27, 3}, {28, 4}} {
		l.tick(at.second * second)
		if l.rec.Sent != at.sent {
			t.Errorf("%d requests after %d s, want %d", l.rec.Sent, at.second, at.sent)
		}
	}
	l.received(c, 29*second, answer, 3)
	if l.tick(38 * second); l.rec.Sent != 4 {
		t.Errorf("%d requests after 38 s, want 4", l.rec.Sent)
	}
}

// BusyOpen makes as many connections as there are requests that wait, at once, and no more while
// these are under way.
func TestBusyOpen(t *testing.T) {
	dialing := func(l *loop) (n int) {
		for _, c := range l.conns {
			if c.state == stateDialing {
				n++
			}
		}
		return n
	}
	for _, tc := range []struct {
		name  string
		plan  Plan
		first int // that are being made after the first turn
		last  int // and after ten more
	}{
		{"a burst", Plan{Arrivals: Burst{Size: 50, Every: time.Minute}, MaxConns: 100}, 49, 49},
		{"a burst for few", Plan{Arrivals: Burst{Size: 50, Every: time.Minute}, MaxConns: 20}, 19, 19},
		{"a burst by count", Plan{Arrivals: Burst{Size: 50, Every: time.Minute}, MaxConns: 100, Count: 10}, 9, 9},
		{"a burst, four to a connection", Plan{Arrivals: Burst{Size: 50, Every: time.Minute}, MaxConns: 100, Depth: 4}, 12, 12},
		{"a large burst", Plan{Arrivals: Burst{Size: 500, Every: time.Minute}, MaxConns: 600}, 2 * openAtOnce, 499},
		{"one", Plan{Arrivals: Burst{Size: 2, Every: time.Minute}, MaxConns: 100}, 1, 1},
		{"some", Plan{Arrivals: Constant{PerSecond: 1000}, MaxConns: 100}, 1, 11},
	} {
		tc.plan.Codec, tc.plan.Busy, tc.plan.Duration = &Raw{Request: []byte("ask"), Answer: 3}, BusyOpen, time.Minute
		l, _ := atDesk(t, tc.plan)
		l.connected(l.conns[0], 0, nil)
		now := int64(time.Millisecond)
		l.tick(now)
		if n := dialing(l); n != tc.first {
			t.Errorf("%s: %d are being made, want %d", tc.name, n, tc.first)
		}
		for range 10 {
			if _, constant := tc.plan.Arrivals.(Constant); constant {
				now += int64(time.Millisecond)
			}
			l.tick(now)
		}
		if n := dialing(l); n != tc.last {
			t.Errorf("%s: %d are being made at last, want %d", tc.name, n, tc.last)
		}
		sent := l.rec.Sent
		for _, c := range l.conns[1:] {
			l.connected(c, now, nil)
		}
		if l.coming != 0 || l.rec.Sent < sent+int64(tc.last) {
			t.Errorf("%s: %d are being made, %d sent", tc.name, l.coming, l.rec.Sent)
		}
	}
}

// silent is a codec whose server says nothing that lets requests go.
type silent struct{ *Raw }

func (s silent) Thread(int, int) Thread              { return s }
func (s silent) Session() Session                    { return s }
func (silent) Greet(dst []byte) []byte               { return append(dst, "hello"...) }
func (silent) Ready() bool                           { return false }
func (silent) Request(*Request) error                { panic("it is not ready") }
func (silent) Receive([]byte, *Answers) (int, error) { return 0, nil }
func (silent) End(*Answers) error                    { return nil }

// A connection that was not let in in time leaves nothing to the next one in its place.
func TestGreetingLeavesNothing(t *testing.T) {
	const second = int64(time.Second)
	l, d := atDesk(t, Plan{Codec: silent{}, Conns: 1, Duration: time.Minute, Timeout: time.Second})
	c := l.conns[0]
	d.room = 2
	l.connected(c, 0, nil) // half of what it has to say does not fit
	if in := []byte("who"); l.received(c, second/2, in, len(in)) == 0 {
		c.rest = in // as engines do it
	}
	if !c.full || len(c.out) == 0 || len(c.rest) == 0 {
		t.Fatalf("%v, %q, %q", c.full, c.out, c.rest)
	}
	if l.tick(2 * second); c.state != stateWaiting || c.full || len(c.out) > 0 || len(c.rest) > 0 {
		t.Errorf("state %d, full %v, to write %q, kept %q", c.state, c.full, c.out, c.rest)
	}
}

// BenchmarkLoop measures the loop's own cost of a request, with 16 on a connection.
func BenchmarkLoop(b *testing.B) {
	const depth, size = 16, 150
	l, _ := atDesk(b, Plan{Codec: &Raw{Request: make([]byte, 40), Answer: size}, Conns: 50, Depth: depth, Duration: time.Hour})
	for _, c := range l.conns {
		l.connected(c, 0, nil)
	}
	in := make([]byte, depth*size)
	now := int64(0)
	for i := 0; b.Loop(); i++ {
		now += 10_000
		l.received(l.conns[i%len(l.conns)], now, in, len(in))
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/depth, "ns/request")
}

// The loop does not allocate for a request.
func TestTheLoopDoesNotAllocate(t *testing.T) {
	l, _ := atDesk(t, Plan{Codec: &Raw{Request: make([]byte, 40), Answer: 150}, Conns: 1, Depth: 4, Duration: time.Hour})
	l.connected(l.conns[0], 0, nil)
	in := make([]byte, 4*150)
	now := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 10_000
		l.received(l.conns[0], now, in, len(in))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A thread's use of its processor counts as its own, also after other threads have ended, as they
// do one by one where a run ends with a number of requests.
func TestUseOfThreadsThatEndApart(t *testing.T) {
	const second = time.Second
	r := &run{plan: &Plan{Duration: time.Minute}}
	for thread, intervals := range []int{1, 3, 2} {
		d := &driver{results: make(chan *Interval), spare: make(chan *Interval, 1)}
		r.drivers = append(r.drivers, d)
		go func() {
			defer close(d.results)
			for i := range intervals {
				v := NewInterval()
				v.Start, v.Length = time.Duration(i)*second, second
				v.Threads = []ThreadUse{{CPU: time.Duration(thread+1) * time.Millisecond, Wall: second}}
				d.results <- v
				<-d.spare
			}
		}()
	}
	r.collect()
	want := []ThreadUse{
		{CPU: time.Millisecond, Wall: second},
		{CPU: 6 * time.Millisecond, Wall: 3 * second},
		{CPU: 6 * time.Millisecond, Wall: 2 * second},
	}
	if got := r.result.Total.Threads; !slices.Equal(got, want) {
		t.Errorf("the threads used %v, want %v", got, want)
	}
}
