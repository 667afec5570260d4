package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// TestStatsAgree does some of everything, both ways, and compares what one side
// says it sent with what the other says it received.
func TestStatsAgree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		wire.HandlePost(mux, "post", func(context.Context, []byte) error { return nil })
		d, a := piped(t, &wire.Config{Mux: mux}, &wire.Config{Mux: mux})
		for i, c := range []*wire.Conn{d, a} {
			exchangeForStats(t, c, 3+i)
		}
		settled(t, d, a)
		for i, c := range []*wire.Conn{d, a} {
			n, sent := int64(3+i), c.Stats().Tx
			received := [...]*wire.Conn{a, d}[i].Stats().Rx
			if sent != received {
				t.Errorf("%v sent %+v, the other received %+v", c.Dialed(), sent, received)
			}
			other := int64(4 - i)
			want := wire.Traffic{
				Posts: 6 * n, Requests: n + 1, Responses: other + 1, Starts: 1,
				Stream: n + other + 2, Fins: 2, Errors: 1, // first data is a message, and so is its echo
				Bytes: sent.Bytes, Frames: sent.Frames,
			}
			if sent != want {
				t.Errorf("%v sent %+v, want %+v", c.Dialed(), sent, want)
			}
		}
	})
}

// exchangeForStats sends posts one by one and packed, requests of which one fails,
// and a stream that is echoed.
func exchangeForStats(t *testing.T, c *wire.Conn, n int) {
	t.Helper()
	for range n {
		err := errors.Join(
			c.Post(t.Context(), "post", []byte("one")),
			c.PostBatch(t.Context(), "post", [][]byte{{}, {1}, {2}, {3, 4}}),
		)
		_, ackErr := c.PostAck(t.Context(), "post", []byte("acked"))
		_, callErr := c.Call(t.Context(), "echo", []byte("request"))
		if err := errors.Join(err, ackErr, callErr); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Call(t.Context(), "nobody", nil); err == nil {
		t.Fatal("nobody has answered")
	}
	s, err := c.Open(t.Context(), "echo", wire.OpenOptions{First: []byte("first")})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // what is echoed has the borders of what was read
	for range n {
		if err := s.WriteMsg([]byte("message")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

func TestStatsNames(t *testing.T) {
	names := wire.StatNames()
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(wire.StatNames()) {
		t.Errorf("not sorted, or twice the same: %v", names)
	}
	for _, original := range []string{
		"n_tx", "n_txpost", "n_txreq", "n_txresp", "n_txstart", "n_txstream", "n_txfin", "n_txbyte", "n_flushes",
		"n_rx", "n_rxpost", "n_rxreq", "n_rxresp", "n_rxstart", "n_rxstream", "n_rxfin", "n_rxbyte", "n_rxbeats",
		"n_dropped", "n_mdrops",
	} {
		if !slices.Contains(names, original) {
			t.Errorf("%s is missing", original)
		}
	}
	// Fields with different values: no name may yield the value of another.
	st := wire.Stats{
		Tx:      wire.Traffic{Posts: 1, Requests: 2, Responses: 4, Starts: 8, Stream: 16, Fins: 32, Bytes: 101, Frames: 102, Errors: 103},
		Rx:      wire.Traffic{Posts: 100, Requests: 200, Responses: 400, Starts: 800, Stream: 1600, Fins: 3200, Bytes: 201, Frames: 202, Errors: 203},
		Flushes: 301, Heartbeats: 302, DroppedBytes: 303, DroppedMessages: 304, Cancels: 305, Resets: 306, Credits: 307,
		Stale: 308, PostErrors: 309, Conflated: 310, Stall: 311, RTT: 312, Inflight: 313, Streams: 314, Keyed: 315,
		QueuedBytes: 316, OldestUnsent: 317 * time.Millisecond,
	}
	for i := range st.PerFlush {
		st.PerFlush[i] = int64(401 + i)
	}
	got := st.Map()
	if got["n_tx"] != 63 || got["n_rx"] != 6300 {
		t.Errorf("n_tx %d, n_rx %d: want 63 and 6300, the sums of six", got["n_tx"], got["n_rx"])
	}
	if len(got) != len(names) || len(values(st)) != len(names) {
		t.Errorf("%d names, %d in the map, %d different values", len(names), len(got), len(values(st)))
	}
	if got["n_txerr"] != 103 || got["oldest_unsent_ms"] != 317 || got["n_flush_0001"] != 401 || got["n_flush_2048"] != 412 {
		t.Errorf("got %v", got)
	}
	var decoded map[string]int64
	b, err := json.Marshal(st)
	if err != nil || json.Unmarshal(b, &decoded) != nil || len(decoded) != len(names) || decoded["n_rxbyte"] != 201 {
		t.Errorf("JSON: %s, %v", b, err)
	}
	twice := st
	twice.Add(st)
	for name, n := range twice.All() {
		want := 2 * got[name]
		if name == "rtt_ns" || name == "oldest_unsent_ms" {
			want = got[name]
		}
		if n != want {
			t.Errorf("%s: %d and %d is %d", name, got[name], got[name], n)
		}
	}
}

func values(st wire.Stats) map[int64]bool {
	seen := map[int64]bool{}
	for _, n := range st.All() {
		seen[n] = true
	}
	return seen
}

// TestStatsOfDrops loses messages in each way there is.
func TestStatsOfDrops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.HandlePost(mux, "bad", func(context.Context, []byte) error { return errors.New("no") })
		mux.HandleStream("deaf", func(_ context.Context, s *wire.Stream) error {
			_, err := s.Read(make([]byte, 2)) // and returns with the rest unread
			return err
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		if err := d.PostBatch(t.Context(), "nobody", [][]byte{[]byte("abc"), []byte("de")}); err != nil {
			t.Fatal(err)
		}
		if err := d.Post(t.Context(), "bad", []byte("x")); err != nil {
			t.Fatal(err)
		}
		s, err := d.Open(t.Context(), "deaf", wire.OpenOptions{First: []byte("12345")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		synctest.Wait()
		// Two bodies packed have two bytes of lengths.
		if st := a.Stats(); st.DroppedMessages != 2 || st.DroppedBytes != 5+2+3 || st.PostErrors != 1 {
			t.Errorf("at the receiver: %+v", st)
		}
		big := make([]byte, 60_000)
		for err = nil; err == nil; {
			err = d.TryPost("nobody", big)
		}
		if st := d.Stats(); !errors.Is(err, wire.ErrNoCredit) || st.DroppedMessages != 1 || st.DroppedBytes != 60_000 {
			t.Errorf("at the sender: %v, %+v", err, st)
		}
	})
}

// TestStatsOfAStalledSocket fills the way to a peer that takes nothing.
func TestStatsOfAStalledSocket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const room = 100
		near, far := wiretest.Pipe(room)
		defer far.Close()
		c, err := wire.NewConn(near, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Post(t.Context(), "pos", make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		if err := c.Post(t.Context(), "pos", make([]byte, 500)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		st := c.Stats()
		if st.OldestUnsent != 3*time.Second || st.QueuedBytes < 1400 || st.QueuedBytes > 1600 {
			t.Errorf("%d bytes have waited for %v", st.QueuedBytes, st.OldestUnsent)
		}
		go io.Copy(io.Discard, far)
		synctest.Wait()
		if st := c.Stats(); st.OldestUnsent != 0 || st.QueuedBytes != 0 || st.Tx.Posts != 2 {
			t.Errorf("when all has left: %+v", st)
		}
	})
}

// TestStatsOfAStarvedStream sends more than the peer's budget for a connection.
func TestStatsOfAStarvedStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		release := make(chan struct{})
		mux.HandleStream("late", func(_ context.Context, s *wire.Stream) error {
			<-release
			_, err := io.Copy(io.Discard, s)
			return err
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux, ConnBudget: 256 << 10, StreamInitial: 256 << 10})
		s, err := d.Open(t.Context(), "late", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		other, err := d.Open(t.Context(), "late", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		go func() {
			_, _ = s.Write(make([]byte, 200<<10))
			_, _ = other.Write(make([]byte, 200<<10))
			_, _ = s.CloseWrite(), other.CloseWrite()
		}()
		synctest.Wait()
		time.Sleep(4 * time.Second)
		if st := d.Stats(); st.OldestUnsent != 4*time.Second || st.QueuedBytes != 400<<10-256<<10 || st.Streams != 2 || st.Inflight != 0 {
			t.Errorf("starved: %+v", st)
		}
		close(release)
		synctest.Wait()
		settled(t, d, a)
		if st := d.Stats(); st.OldestUnsent != 0 || st.QueuedBytes != 0 || st.Streams != 0 {
			t.Errorf("then: %+v", st)
		}
	})
}

// TestStatsOfBatches corks frames into one write.
func TestStatsOfBatches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.HandlePost(mux, "a", func(context.Context, []byte) error { return nil })
		wire.HandlePost(mux, "b", func(context.Context, []byte) error { return nil })
		d, _ := piped(t, nil, &wire.Config{Mux: mux})
		if err := d.PostBatch(t.Context(), "a", [][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
		if err := d.PostBatch(t.Context(), "b", [][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := d.Stats()
		uncork := d.Cork()
		for range 5 { // kinds that change cannot be packed
			_ = d.Post(t.Context(), "a", []byte{1})
			_ = d.PostBatch(t.Context(), "b", [][]byte{{1}, {2}, {3}})
		}
		if st := d.Stats(); st.QueuedBytes == 0 || st.OldestUnsent != 0 {
			t.Errorf("corked: %+v", st)
		}
		uncork()
		synctest.Wait()
		after := d.Stats()
		if n := after.PerFlush[3] - before.PerFlush[3]; n != 1 || after.Flushes-before.Flushes != 1 || after.Tx.Frames-before.Tx.Frames != 10 {
			t.Errorf("10 frames in one write: before %+v, after %+v", before, after)
		}
	})
}

// TestStatsInflight looks while requests run, and once the connection has ended.
func TestStatsInflight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.Handle(mux, "wait", func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go d.Call(ctx, "wait", nil)
		}
		synctest.Wait()
		if d, a := d.Stats(), a.Stats(); d.Inflight != 3 || a.Inflight != 3 || d.Streams != 0 {
			t.Errorf("three requests: %+v, %+v", d, a)
		}
		cancel()
		synctest.Wait()
		if d, a := d.Stats(), a.Stats(); d.Inflight != 0 || d.Cancels != 3 || a.Cancels != 3 || a.Tx.Errors != 3 {
			t.Errorf("cancelled: %+v, %+v", d, a)
		}
		go d.Call(t.Context(), "wait", nil)
		synctest.Wait()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d, a := d.Stats(), a.Stats(); d.Inflight != 0 || a.Inflight != 0 || d.QueuedBytes != 0 || a.Rx.Requests != 4 {
			t.Errorf("ended: %+v, %+v", d, a)
		}
	})
}
