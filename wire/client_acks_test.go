package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// When a draining connection and the next one belong to two processes that know
// nothing of each other, what the first acknowledges after the second has begun
// must not keep bodies from the second.
func TestAcksOfAnEarlierConnectionHaveNoSay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const posts, size = 100, 2000
		server := func(room uint32) (config *wire.Config, release chan struct{}, got func() int) {
			release = make(chan struct{})
			mux, handled := wire.NewMux(), 0
			wire.HandlePost(mux, "p", func(_ context.Context, body []byte) error {
				<-release
				if len(body) != size || int(binary.LittleEndian.Uint32(body)) != handled {
					t.Errorf("post %d is %d bytes", handled, len(body))
				}
				handled++
				return nil
			})
			return &wire.Config{Mux: mux, Sessions: new(wire.Sessions), PostInitial: room}, release, func() int { return handled }
		}
		first, releaseFirst, _ := server(1 << 20)
		second, releaseSecond, gotSecond := server(64 << 10)
		b := &backend{config: first}
		c := b.client(t, wire.ClientConfig{})
		for i := range uint32(posts) {
			body := append(binary.LittleEndian.AppendUint32(nil, i), bytes.Repeat([]byte("x"), size-4)...)
			if _, err := c.PostAck(t.Context(), "p", body); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		b.mu.Lock()
		b.config = second
		b.mu.Unlock()
		go func() { _ = b.conns[0].Drain(context.Background()) }()
		time.Sleep(time.Second)
		close(releaseFirst)
		time.Sleep(time.Second)
		if len(b.attempts()) != 2 || c.Acked() != 0 {
			t.Fatalf("%d connections, %d acknowledged", len(b.attempts()), c.Acked())
		}
		close(releaseSecond)
		if err := c.WaitAcked(within(t, time.Minute), posts); err != nil || gotSecond() != posts {
			t.Errorf("%v, handled %d", err, gotSecond())
		}
	})
}

// A process that keeps its posts on disk is killed behind the handling of some and
// before their acknowledgement. The next one numbers from what it knows, and none is
// handled twice; a server that knows nothing either gets all of them, bodies too.
func TestPostsThatOutliveTheirProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []byte
		mux := wire.NewMux()
		wire.HandlePost(mux, "p", func(_ context.Context, body []byte) error {
			got = append(got, body...)
			return nil
		})
		b := &backend{config: &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}}
		life := func(base, sentBefore uint64, bodies string) {
			t.Helper()
			c := b.client(t, wire.ClientConfig{
				Config:     &wire.Config{Session: &wire.Session{ID: [16]byte{1}, Epoch: 1, Base: base}},
				SentBefore: sentBefore, MaxUnacked: 2,
			})
			for i := range len(bodies) {
				n, err := c.PostAck(t.Context(), "p", []byte{bodies[i]})
				if err != nil || n != base+uint64(i)+1 {
					t.Fatalf("post %d has number %d, %v", i, n, err)
				}
			}
			if err := c.WaitAcked(within(t, time.Minute), base+uint64(len(bodies))); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		life(0, 0, "abcde")
		life(2, 5, "cdefg") // knew of a and b alone
		life(5, 7, "fg")    // and all of it was handled
		if string(got) != "abcdefg" {
			t.Errorf("handled %q", got)
		}
		b.mu.Lock()
		b.config = &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}
		b.mu.Unlock()
		life(4, 7, "efgh")
		if string(got) != "abcdefgefgh" {
			t.Errorf("behind a server without memory, handled %q", got)
		}
	})
}

// Keyed posts that waited for room when their connection ended go over the next one.
func TestKeyedPostsOutliveTheirConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const size = 30_000
		release, last := make(chan struct{}), make(chan byte, 100)
		mux := wire.NewMux()
		wire.HandlePost(mux, "pos", func(_ context.Context, body []byte) error {
			<-release
			last <- body[0]
			return nil
		})
		b := &backend{config: &wire.Config{Mux: mux, PostInitial: 65_536}}
		c := b.client(t, wire.ClientConfig{})
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for c.TryPost("pos", make([]byte, size)) == nil {
			synctest.Wait()
		}
		if err := c.PostKeyed("pos", "k", bytes.Repeat([]byte{7}, size)); err != nil {
			t.Fatal(err)
		}
		c.Conns()[0].Abort(wire.Unavailable)
		synctest.Wait()
		close(release)
		time.Sleep(time.Minute)
		got := byte(0)
		for range len(last) {
			got = <-last
		}
		if got != 7 || c.Stats().Connects != 2 {
			t.Errorf("the last post is %d, after %d connections", got, c.Stats().Connects)
		}
	})
}
