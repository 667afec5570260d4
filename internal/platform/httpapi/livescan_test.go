package httpapi

import (
	"context"
	"testing"

	"github.com/coder/websocket"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// endless is a journal of so many events of one object that no test reads them all.
type endless struct{ *journal.Memory }

const endlessEvents = 1 << 40

func (endless) OldestEvent() uint64 { return 1 }

func (endless) Committed() journal.Piece {
	return journal.Piece{At: journal.Place{Number: 1}, Last: true, First: endlessEvents, Count: 1}
}

func (endless) Pieces(from uint64, f func(journal.Piece) error) error {
	p := journal.Piece{At: journal.Place{Number: 1}, First: from}
	for ; p.Count < 500; p.Count++ {
		p.Events = events.AppendRecord(p.Events, &events.Record{Kind: track.Enter, Fleet: "default", Object: "other", JSON: events.Plain([]byte(`{}`))})
	}
	for ; p.First <= endlessEvents; p.First = p.Next() {
		p.Count = int(min(500, endlessEvents+1-p.First))
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// A client whose filter selects none of very many past events gets everything else meanwhile, and
// learns how far the search has come. The search ends with the client.
func TestLiveSearchOfALongLog(t *testing.T) {
	log, err := events.OpenLog(10_000, 64<<20, endless{journal.NewMemory()})
	must(t, err)
	defer log.End()
	tw := newTown(t, options{config: func(c *Config) { c.Log = log }})
	v := tw.live()
	v.frame()
	v.ask(`{"events":{"object":"wanted"},"cursor":"` + log.Cursor(0) + `"}`)
	last := uint64(0)
	for range 2 {
		f := v.until("events", nil)
		at, err := log.ParseCursor(f.Cursor)
		if err != nil || at <= last || at >= endlessEvents || len(f.Events) > 0 {
			t.Errorf("after %d: %v, %v, %v", last, at, err, f.Events)
		}
		last = at
		v.until("stats", nil)
		v.until("dots", nil)
	}
	v.ask(`{"cursor":"` + log.Cursor(log.Latest()-3) + `"}`) // a request is obeyed at once
	v.until("events", func(f liveFrame) bool { return f.Cursor == log.Cursor(log.Latest()) })
	v.ask(`{"cursor":"` + log.Cursor(0) + `"}`)
	v.until("events", func(f liveFrame) bool { return f.Cursor != log.Cursor(log.Latest()) })
	must(t, v.conn.Close(websocket.StatusNormalClosure, ""))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tw.api.Close(ctx)
	if ctx.Err() != nil {
		t.Error("the search goes on without its client")
	}
}
