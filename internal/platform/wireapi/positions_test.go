package wireapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"paddock/internal/platform/events"
	"paddock/wire"
)

// all returns the events of the log.
func (s *site) all() []events.Record {
	records, _ := s.log.Reader(0, events.Filter{}).TryNext(make([]events.Record, 0, 1000))
	return records
}

// An acknowledged position has been applied, and its events are in the log.
func TestAcknowledgedMeansApplied(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	for n := range 50 {
		lon := float64(1 - 2*(n%2)) // in and out
		number, err := c.PostAck(s.ctx(), KindUpdate, body(t, "v", lon, 1, firstTime+int64(n)))
		must(t, err)
		must(t, c.WaitAcked(s.ctx(), number))
		if got := len(s.all()); got != n+1 {
			t.Fatalf("%d events after %d acknowledged positions", got, n+1)
		}
	}
	if o, ok := s.pipeline.Object("default", "v"); !ok || o.Point.Lon != -1 || int64(o.Time) != firstTime+49 {
		t.Errorf("%+v, %v", o, ok)
	}
}

// A bad position is counted, and the others of its batch are accepted and acknowledged.
func TestBadPositions(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	bodies := [][]byte{
		body(t, "a", 1, 1, firstTime),
		{},
		[]byte("{}"),
		{2},
		body(t, "b", 1, 1, firstTime)[:20],
		body(t, "c", 1, 95, firstTime),
		{0xa0},
		body(t, "b", 2, 2, firstTime),
	}
	must(t, c.PostBatch(s.ctx(), KindUpdate, bodies))
	number, err := c.PostAck(s.ctx(), KindUpdate, []byte{0xbf, 0xff})
	must(t, err)
	must(t, c.WaitAcked(s.ctx(), number))
	totals := s.pipeline.Metrics.Totals()
	if totals.Accepted != 2 || totals.Rejected != 7 {
		t.Errorf("%+v", totals)
	}
	if n := s.api.Stats().Positions; n != 9 {
		t.Errorf("%d posts", n)
	}
}

// Positions of an object stay in order, and none is dropped for lack of room.
func TestPositionsOfAnObjectAreInOrder(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	ctx := s.ctx()
	var last uint64
	for n := range 5000 {
		number, err := c.PostAck(ctx, KindUpdate, body(t, fmt.Sprint("v", n%7), 50, 1, firstTime+int64(n)))
		must(t, err)
		last = number
	}
	must(t, c.WaitAcked(s.ctx(), last))
	if totals := s.pipeline.Metrics.Totals(); totals.Accepted != 5000 || totals.Late != 0 || totals.Overloaded != 0 {
		t.Errorf("%+v", totals)
	}
}

// Posts that the platform refuses for now are not acknowledged, and are applied once it accepts
// positions again: their connection ends, and the client sends them on the next one.
func TestRefusedPostsAreSentAgain(t *testing.T) {
	s := newSite(t, nil)
	s.pipeline.Refuse("the disk is full")
	connected := make(chan struct{}, 100)
	c, err := wire.NewClient(wire.ClientConfig{
		Address: s.addr, MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
		OnConnect: func(context.Context, *wire.Conn) {
			select {
			case connected <- struct{}{}:
			default:
			}
		},
	})
	must(t, err)
	defer c.Close()
	number, err := c.PostAck(s.ctx(), KindUpdate, body(t, "v", 1, 1, firstTime))
	must(t, err)
	for range 3 {
		select {
		case <-connected:
		case <-s.ctx().Done():
			t.Fatal("the client keeps a connection that applies none of its posts")
		}
	}
	if n := c.Acked(); n != 0 {
		t.Errorf("%d posts are acknowledged", n)
	}
	s.pipeline.Refuse("")
	must(t, c.WaitAcked(s.ctx(), number))
	if totals := s.pipeline.Metrics.Totals(); totals.Accepted != 1 {
		t.Errorf("%+v", totals)
	}
}

func TestToken(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Token = "s3cret" })
	raw := func(scheme, data string) func(net.Conn) (*wire.Auth, error) {
		return func(net.Conn) (*wire.Auth, error) { return &wire.Auth{Scheme: scheme, Data: []byte(data)}, nil }
	}
	for name, auth := range map[string]func(net.Conn) (*wire.Auth, error){
		"none": nil, "empty": raw("token", ""), "the secret itself": raw("token", "s3cret"),
		"wrong": wire.TokenAuth("bus", []byte("s3cre")), "another scheme": raw("basic", "s3cret"),
	} {
		c := s.dial(&wire.Config{Auth: auth})
		if _, err := c.Call(s.ctx(), KindSearch, []byte(`[1,1]`)); err == nil {
			t.Errorf("%s: answered", name)
		}
		<-c.Done()
		if e, ok := errors.AsType[*wire.Error](c.Err()); !ok || e.Code != wire.Unauthenticated {
			t.Errorf("%s: ended with %v", name, c.Err())
		}
	}
	if st := s.api.Stats(); st.Denied != 5 || st.Searches != 0 {
		t.Errorf("%+v", st)
	}
	c := s.dial(&wire.Config{Auth: wire.TokenAuth("bus 7", []byte("s3cret"))})
	if got, err := c.Call(s.ctx(), KindSearch, []byte(`[1,1]`)); err != nil || string(got) != inA+"\n" {
		t.Errorf("%v, %s", err, got)
	}
}

func TestConnectionsHaveABound(t *testing.T) {
	s := newSite(t, func(c *Config) { c.MaxConns = 2 })
	first, second := s.dial(nil), s.dial(nil)
	for _, c := range []*wire.Conn{first, second} {
		must(t, c.Ready(s.ctx()))
	}
	third := s.dial(nil)
	<-third.Done()
	if e, ok := errors.AsType[*wire.Error](third.Err()); !ok || e.Code != wire.ResourceExhausted {
		t.Errorf("beyond the bound: %v", third.Err())
	}
	if st := s.api.Stats(); st.Refused != 1 {
		t.Errorf("%+v", st)
	}
}

// A drain in the middle of traffic: the events of acknowledged positions are in the log, and every
// subscriber has received them.
func TestDrain(t *testing.T) {
	for range 3 {
		s := newSite(t, nil)
		c := s.dial(nil)
		stream, _ := s.subscribe(c, `{}`) // on the connection of the posts
		received := make(chan int, 1)
		go func() {
			n := 0
			for {
				raw, err := stream.ReadMsg(nil)
				if err != nil {
					received <- n
					return
				}
				if len(raw) > 200 { // an event
					n++
				}
			}
		}()
		sent := make(chan uint64, 1)
		begun := make(chan struct{})
		go func() {
			for n := 0; ; n++ {
				lon := float64(1 - 2*(n%2))
				if _, err := c.PostAck(context.Background(), KindUpdate, body(t, "v", lon, 1, firstTime+int64(n))); err != nil {
					sent <- uint64(n)
					return
				}
				if n == 100 {
					if err := c.WaitAcked(context.Background(), 50); err != nil {
						t.Error(err)
					}
					close(begun)
				}
			}
		}()
		<-begun
		s.drain(s.ctx())
		total, events := <-sent, <-received
		acked := c.Acked()
		if logged := int(s.log.Latest()); uint64(logged) < acked || acked == 0 || logged != events && s.log.Oldest() == 1 {
			t.Fatalf("%d sent, %d acknowledged, %d in the log, %d received", total, acked, logged, events)
		}
	}
}

// A client whose connection is cut repeatedly sends unacknowledged positions again, and each
// position is applied once.
func TestSessionsApplyOnce(t *testing.T) {
	s := newSite(t, nil)
	var mu sync.Mutex
	var latest net.Conn
	cut := func() {
		mu.Lock()
		defer mu.Unlock()
		if latest != nil {
			_ = latest.Close()
		}
	}
	client, err := wire.NewClient(wire.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
			mu.Lock()
			defer mu.Unlock()
			latest = nc
			return nc, err
		},
		MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, Config: &wire.Config{Logger: slog.New(slog.DiscardHandler)},
	})
	must(t, err)
	defer client.Close()
	ctx := s.ctx()
	const posts = 5000
	var last uint64
	for n := range posts {
		number, err := client.PostAck(ctx, KindUpdate, body(t, "v", 50, 1, firstTime+int64(n)))
		must(t, err)
		if last = number; n%500 == 250 {
			must(t, client.WaitAcked(ctx, number-200)) // there is a connection
			cut()
		}
	}
	must(t, client.WaitAcked(ctx, last))
	if totals := s.pipeline.Metrics.Totals(); totals.Accepted != posts || totals.Late != 0 {
		t.Errorf("%+v", totals)
	}
	if st := s.api.Stats(); st.Positions != posts || st.Accepted < 2 {
		t.Errorf("%+v", st)
	}
}

// A skipped position is counted, and acknowledged in its turn.
func TestSkippedPositions(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	for _, kind := range []string{KindUpdate, KindSkip, KindSkip, KindUpdate} {
		_, err := c.PostAck(s.ctx(), kind, body(t, "v", 1, 1, firstTime+int64(s.api.Stats().Skipped)))
		must(t, err)
	}
	must(t, c.WaitAcked(s.ctx(), 4))
	if st := s.api.Stats(); st.Skipped != 2 || st.Positions != 2 {
		t.Errorf("%+v", st)
	}
}
