package client

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// Little is sent ahead of streams while the link is congested, whatever is configured, and the
// configured amount again afterwards.
func TestAheadOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := wiretest.Pipe(100)
		defer far.Close()
		link, err := wire.NewConn(near, &wire.Config{Logger: silent})
		if err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		c := &Client{}
		is := func(what string, length int64, wantSmall, wantFirst int) {
			t.Helper()
			if small, first := c.ahead(link, &h1.Head{Length: length}); small != wantSmall || first != wantFirst {
				t.Errorf("%s: %d and %d bytes, want %d and %d", what, small, first, wantSmall, wantFirst)
			}
		}
		is("at rest", 30_000, message.MaxSmall, maxAhead)
		if err := link.Post(t.Context(), "pos", make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(congestedAfter - 1)
		is("not yet", 30_000, message.MaxSmall, maxAhead)
		time.Sleep(time.Nanosecond)
		is("behind", 30_000, 2*minAhead, minAhead)
		is("behind, of unknown length", -1, 2*minAhead, minAhead)
		is("behind, and small", minAhead, message.MaxSmall, maxAhead)
		c.config.SmallMax = message.MinSmall
		is("behind, and little is small", 30_000, message.MinSmall, minAhead)
		c.config.SmallMax = 0
		go func() { _, _ = io.Copy(io.Discard, far) }()
		synctest.Wait()
		is("at rest again", 30_000, message.MaxSmall, maxAhead)
	})
}
