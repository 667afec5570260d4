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
