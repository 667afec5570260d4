package wire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

func session(id byte, epoch uint64, index uint32) *wire.Session {
	return &wire.Session{ID: [16]byte{id}, Epoch: epoch, Index: index}
}

// joins returns both ends of a connection of a session, after their HELLOs.
func joins(t *testing.T, s *wire.Session, acceptor *wire.Config) (d, a *wire.Conn) {
	t.Helper()
	d, a = piped(t, &wire.Config{Session: s}, acceptor)
	synctest.Wait()
	return d, a
}

func TestSessionEpochs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sessions := new(wire.Sessions)
		config := &wire.Config{Sessions: sessions}
		join := func(id byte, epoch uint64, index uint32) *wire.Conn {
			d, _ := joins(t, session(id, epoch, index), config)
			return d
		}
		lives := func(c *wire.Conn) {
			t.Helper()
			if c.Err() != nil {
				t.Errorf("ended: %v", c.Err())
			}
		}
		first, joined, other := join(1, 5, 0), join(1, 5, 1), join(2, 1, 0)
		lives(first)
		lives(joined)

		replacing := join(1, 5, 0)
		isCode(t, first.Err(), wire.Aborted)
		lives(joined)

		isCode(t, join(1, 4, 2).Err(), wire.StaleEpoch)
		lives(replacing)

		newer := join(1, 6, 7)
		isCode(t, replacing.Err(), wire.StaleEpoch)
		isCode(t, joined.Err(), wire.StaleEpoch)
		lives(newer)
		isCode(t, join(1, 5, 0).Err(), wire.StaleEpoch)

		newer.Close()
		synctest.Wait()
		isCode(t, join(1, 5, 0).Err(), wire.StaleEpoch) // it is remembered
		lives(join(1, 6, 7))
		lives(other)
		want := wire.SessionStats{Live: 2, Joined: 6, Taken: 1, Replaced: 1, Stale: 3}
		if got := sessions.Stats(); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

// A session belongs to the identity that was proved when it was first seen.
func TestSessionIdentity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sessions := new(wire.Sessions)
		config := &wire.Config{Sessions: sessions, Verify: func(c *wire.Conn, h *wire.Hello) error {
			c.SetIdentity(h.Agent)
			return nil
		}}
		join := func(who string, epoch uint64) error {
			d, _ := piped(t, &wire.Config{Agent: who, Session: session(1, epoch, 0)}, config)
			synctest.Wait()
			return d.Err()
		}
		if err := join("alice", 1); err != nil {
			t.Fatal(err)
		}
		isCode(t, join("mallory", 1), wire.PermissionDenied)
		isCode(t, join("mallory", 9), wire.PermissionDenied)
		if err := join("alice", 2); err != nil {
			t.Error(err)
		}
		sessions.Restore("bob", *session(3, 1, 0), 10)
		d, _ := piped(t, &wire.Config{Agent: "mallory", Session: session(3, 1, 0)}, config)
		synctest.Wait()
		isCode(t, d.Err(), wire.PermissionDenied)
		if s := sessions.Stats(); s.Refused != 3 {
			t.Errorf("%+v", s)
		}
	})
}

func TestSessionLanesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		config := &wire.Config{Sessions: new(wire.Sessions)}
		for i := range uint32(256) {
			d, _ := joins(t, session(1, 1, i), config)
			d.Close()
		}
		d, _ := joins(t, session(1, 1, 256), config)
		isCode(t, d.Err(), wire.ResourceExhausted)
		d, _ = joins(t, session(1, 1, 255), config)
		if d.Err() != nil {
			t.Error(d.Err())
		}
	})
}

func TestSessionsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sessions := &wire.Sessions{MaxIdle: 2, Expiry: time.Hour}
		config := &wire.Config{Sessions: sessions}
		visit := func(id byte) {
			d, _ := joins(t, session(id, 1, 0), config)
			d.Close()
			synctest.Wait()
		}
		stays, _ := joins(t, session(9, 1, 0), config)
		visit(1)
		visit(2)
		visit(3)
		if s := sessions.Stats(); s.Idle != 2 || s.Live != 1 || s.Evicted != 1 {
			t.Errorf("%+v", s)
		}
		time.Sleep(50 * time.Minute)
		visit(2)
		time.Sleep(20 * time.Minute)
		visit(2) // 3 has been away for 70 minutes
		if s := sessions.Stats(); s.Idle != 1 || s.Live != 1 || s.Expired != 1 || s.Evicted != 1 {
			t.Errorf("%+v", s)
		}
		if stays.Err() != nil {
			t.Errorf("the one with a connection: %v", stays.Err())
		}
	})
}

// tape is what a handler of acknowledged posts has had, in its order.
type tape struct {
	mu  sync.Mutex
	got []string // number:body
}

func (l *tape) serve(mux *wire.Mux, kind string) {
	mux.HandlePosts(kind, func(_ context.Context, p *wire.Posts) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for number, body := range p.All() {
			l.got = append(l.got, fmt.Sprintf("%d:%s", number, body))
		}
		return nil
	})
}

func (l *tape) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

// How many posts an earlier process has handled is known from Restore and Known.
func TestSessionRestored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l tape
		mux := wire.NewMux()
		l.serve(mux, "p")
		var asked []wire.Session
		sessions := &wire.Sessions{Known: func(s wire.Session) uint64 {
			asked = append(asked, s)
			return 3
		}}
		sessions.Restore(nil, *session(1, 1, 0), 2)
		sessions.Restore(nil, *session(1, 1, 1), 9)
		tests := []struct {
			of     *wire.Session
			posts  int
			want   []string
			acked  uint64
			unseen bool // Known is asked
		}{
			{of: session(1, 1, 0), posts: 4, want: []string{"3:2", "4:3"}, acked: 4},
			{of: session(1, 1, 1), posts: 4, acked: 9},
			{of: session(2, 1, 0), posts: 5, want: []string{"4:3", "5:4"}, acked: 5, unseen: true},
			{of: session(2, 1, 0), posts: 6, want: []string{"6:5"}, acked: 6},
			{of: session(2, 2, 0), posts: 4, want: []string{"4:3"}, acked: 4, unseen: true},
		}
		for i, test := range tests {
			asked = nil
			ours, theirs := wiretest.Pipe(0)
			config := &wire.Config{Session: test.of}
			wire.SetSentBefore(config, 100)
			d, _ := over(t, ours, theirs, config, &wire.Config{Mux: mux, Sessions: sessions})
			for n := range test.posts {
				if _, err := d.PostAck(t.Context(), "p", fmt.Append(nil, n)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if got := l.take(); !slices.Equal(got, test.want) || d.Acked() != test.acked || d.Err() != nil {
				t.Errorf("%d: handled %q, want %q; acked %d, want %d; %v", i, got, test.want, d.Acked(), test.acked, d.Err())
			}
			if unseen := len(asked) == 1; unseen != test.unseen {
				t.Errorf("%d: asked about %+v", i, asked)
			}
			d.Close()
			synctest.Wait()
		}
	})
}

// A post whose handler still runs when its connection is gone, and which comes
// again on the next one, is handled once; those behind it wait.
func TestPostHandledOnceAcrossConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l tape
		mux := wire.NewMux()
		entered, release := make(chan struct{}, 1), make(chan struct{})
		mux.HandlePosts("p", func(_ context.Context, p *wire.Posts) error {
			l.mu.Lock()
			for number, body := range p.All() {
				l.got = append(l.got, fmt.Sprintf("%d:%s", number, body))
			}
			l.mu.Unlock()
			select {
			case entered <- struct{}{}:
			default:
			}
			<-release
			return nil
		})
		b := &backend{config: &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}}
		c := b.client(t, wire.ClientConfig{})
		post := func(body string) {
			if _, err := c.PostAck(t.Context(), "p", []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		post("a")
		<-entered
		post("b")
		post("c")
		synctest.Wait()
		b.cut()
		time.Sleep(time.Second)
		if n := len(b.attempts()); n != 2 {
			t.Fatalf("%d connections", n)
		}
		post("d")
		synctest.Wait()
		if got := l.take(); !slices.Equal(got, []string{"1:a"}) || c.Acked() != 0 {
			t.Errorf("handled %q, acked %d", got, c.Acked())
		}
		close(release)
		if err := c.WaitAcked(t.Context(), 4); err != nil {
			t.Error(err)
		}
		if got := l.take(); !slices.Equal(got, []string{"2:b", "3:c", "4:d"}) {
			t.Errorf("handled %q", got)
		}
	})
}

// A handler that fails because its connection has ended has not handled the post.
func TestPostIsHandledAgainIfItsConnectionEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		var handled []string
		cut := true
		b := &backend{config: &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}}
		wire.HandlePost(mux, "p", func(ctx context.Context, body []byte) error {
			if string(body) == "2" && cut {
				cut = false
				b.cut()
				<-ctx.Done()
				return ctx.Err()
			}
			handled = append(handled, string(body))
			if string(body) == "3" {
				return errors.New("this one is bad, and will never be better")
			}
			return nil
		})
		c := b.client(t, wire.ClientConfig{})
		for i := range 6 {
			if _, err := c.PostAck(t.Context(), "p", fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.WaitAcked(t.Context(), 6); err != nil {
			t.Error(err)
		}
		if want := []string{"0", "1", "2", "3", "4", "5"}; !slices.Equal(handled, want) {
			t.Errorf("handled %q", handled)
		}
	})
}

// A panic takes one body with it, and the others are done, in order.
func TestAckedPostsThatFail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		var handled []string
		wire.HandlePost(mux, "p", func(_ context.Context, body []byte) error {
			if body[0] == 'x' {
				panic(string(body))
			}
			handled = append(handled, string(body))
			return nil
		})
		d, _ := piped(t, nil, &wire.Config{Mux: mux, Logger: quiet})
		uncork := d.Cork()
		last := uint64(0)
		for _, post := range []string{"a", "x", "x", "b", "d", "x"} {
			number, err := d.PostAck(t.Context(), "p", []byte(post))
			if err != nil || number != last+1 {
				t.Fatalf("number %d, %v", number, err)
			}
			last = number
		}
		uncork()
		if err := d.WaitAcked(within(t, time.Minute), last); err != nil {
			t.Error(err)
		}
		if want := []string{"a", "b", "d"}; !slices.Equal(handled, want) {
			t.Errorf("handled %q", handled)
		}
	})
}

// A panic after the end of the connection takes its body with it too: the next connection of the
// session handles the others only.
func TestAckedPostPanicsAfterTheEnd(t *testing.T) {
	for name, serve := range map[string]func(*wire.Mux, func(context.Context, []byte) error){
		"bodies": func(mux *wire.Mux, f func(context.Context, []byte) error) { wire.HandlePost(mux, "p", f) },
		"frames": func(mux *wire.Mux, f func(context.Context, []byte) error) {
			mux.HandlePosts("p", func(ctx context.Context, p *wire.Posts) error {
				var err error
				for _, body := range p.All() {
					err = errors.Join(err, f(ctx, body))
				}
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				b := &backend{config: &wire.Config{Mux: mux, Sessions: new(wire.Sessions), Logger: quiet}}
				var begun []string
				serve(mux, func(ctx context.Context, body []byte) error {
					begun = append(begun, string(body))
					if string(body) == "1" {
						b.cut()
						<-ctx.Done()
						panic("here")
					}
					return nil
				})
				c := b.client(t, wire.ClientConfig{})
				for i := range 3 {
					if _, err := c.PostAck(t.Context(), "p", fmt.Append(nil, i)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // each in a frame of its own
				}
				if err := c.WaitAcked(within(t, time.Minute), 3); err != nil {
					t.Error(err)
				}
				if want := []string{"0", "1", "2"}; !slices.Equal(begun, want) {
					t.Errorf("handled %q", begun)
				}
			})
		})
	}
}

// A connection that the acceptor drains keeps what is under way when the next one
// of its index comes.
func TestSessionReplacesDrainingConnectionGently(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		entered, release := blocker(mux)
		config := &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}
		old, oldAcceptor := joins(t, session(1, 1, 0), config)
		slow := make(chan error, 1)
		go func() {
			_, err := old.Call(context.Background(), "block", nil)
			slow <- err
		}()
		<-entered
		go func() { _ = oldAcceptor.Drain(context.Background()) }()
		synctest.Wait()
		if d, _ := joins(t, session(1, 1, 0), config); d.Err() != nil {
			t.Error(d.Err())
		}
		close(release)
		if err := <-slow; err != nil {
			t.Errorf("the call under way: %v", err)
		}
	})
}

// Acknowledged posts wait in a bounded buffer, and PostAck for room in it.
func TestPostAckIsBounded(t *testing.T) {
	for name, config := range map[string]wire.ClientConfig{
		"posts": {MaxUnacked: 10},
		"bytes": {MaxUnackedBytes: 10 * 1000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var l tape
				mux := wire.NewMux()
				l.serve(mux, "p")
				b := &backend{down: errRefused, config: &wire.Config{Mux: mux}}
				c := b.client(t, config)
				post := func(ctx context.Context) error {
					_, err := c.PostAck(ctx, "p", make([]byte, 1000))
					return err
				}
				for range 10 {
					if err := post(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := post(within(t, time.Second)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("over the bound: %v", err)
				}
				if s := c.Stats(); s.Unacked != 10 || s.UnackedBytes != 10_000 || s.Stalled != time.Second {
					t.Errorf("%+v", s)
				}
				waits := make(chan error, 1)
				go func() { waits <- post(context.Background()) }()
				synctest.Wait()
				b.setDown(nil)
				if err := <-waits; err != nil {
					t.Error(err)
				}
				if err := c.WaitAcked(t.Context(), 11); err != nil || len(l.take()) != 11 {
					t.Error(err)
				}
				if _, err := c.PostAck(t.Context(), "p", make([]byte, 16<<10+1)); !errors.Is(err, wire.ErrTooLarge) {
					t.Errorf("too large: %v", err)
				}
				if _, err := c.PostAck(t.Context(), "P!", nil); !errors.Is(err, wire.ErrKind) {
					t.Errorf("no kind: %v", err)
				}
				if s := c.Stats(); s.Unacked != 0 || s.UnackedBytes != 0 {
					t.Errorf("%+v", s)
				}
				go func() { waits <- c.WaitAcked(context.Background(), 12) }()
				synctest.Wait()
				c.Close()
				if err := <-waits; !errors.Is(err, wire.ErrClosed) {
					t.Errorf("on Close: %v", err)
				}
			})
		})
	}
}

// What the peer says it has had keeps its number, and is not sent as a whole again.
func TestKnownPostsAreNotSentAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l tape
		mux := wire.NewMux()
		l.serve(mux, "p")
		// The first connection gets everything and says nothing any more.
		b := &backend{config: &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}}
		c := b.client(t, wire.ClientConfig{})
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.links[0].Stall(wiretest.In)
		const posts, size = 20, 2000
		for range posts {
			if _, err := c.PostAck(t.Context(), "p", make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := len(l.take()); n != posts || c.Acked() != 0 {
			t.Fatalf("%d handled, %d acked", n, c.Acked())
		}
		b.cut()
		if err := c.WaitAcked(t.Context(), posts); err != nil {
			t.Fatal(err)
		}
		if _, err := c.PostAck(t.Context(), "p", []byte("next")); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitAcked(t.Context(), posts+1); err != nil {
			t.Fatal(err)
		}
		if got := l.take(); !slices.Equal(got, []string{"21:next"}) {
			t.Errorf("handled %q", got)
		}
	})
}

// A process that starts again under its old id takes over from the one before,
// which is told so.
func TestClientEpochIsTheTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l tape
		mux := wire.NewMux()
		l.serve(mux, "p")
		config := &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}
		start := func() *wire.Client {
			b := &backend{config: config}
			c := b.client(t, wire.ClientConfig{Config: &wire.Config{Session: &wire.Session{ID: [16]byte{1}}}})
			if number, err := c.PostAck(t.Context(), "p", nil); err != nil || number != 1 {
				t.Fatal(number, err)
			}
			return c
		}
		older := start()
		if err := older.WaitAcked(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		newer := start()
		if err := newer.WaitAcked(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		isCode(t, older.Err(), wire.StaleEpoch)
		if got := l.take(); !slices.Equal(got, []string{"1:", "1:"}) {
			t.Errorf("handled %q: numbers begin again in a new epoch", got)
		}
		time.Sleep(time.Hour)
		if newer.Err() != nil || len(newer.Conns()) != 1 || len(older.Conns()) != 0 {
			t.Errorf("the newer one: %v", newer.Err())
		}
	})
}
