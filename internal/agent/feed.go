package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/agent/spool"
	"paddock/internal/platform/events"
	"paddock/internal/process/lifecycle"
	"paddock/wire"
)

const (
	// feedRecords and feedBytes bound the events that are kept for local readers.
	feedRecords = 10_000
	feedBytes   = 16 << 20
	// cursorEvery is the least interval between writes of the cursor.
	cursorEvery = time.Second
	// feedRetry is the wait after a refused stream.
	feedRetry = 5 * time.Second
)

// feed copies the platform's events to the local log, which SSE reads, and to publish. run is
// called for one connection after the other.
type feed struct {
	filter       events.Filter
	log          *events.Log
	logger       *slog.Logger
	file         string                            // holds the cursor
	publish      func(subject string, json []byte) // to the bus
	cursor       string                            // owned by run: all earlier events were copied
	written      string                            // owned by run: the contents of file
	at           time.Time                         // owned by run: the time of the last write
	events, gaps atomic.Uint64
}

func newFeed(s *Settings, logger *slog.Logger) (*feed, error) {
	f := &feed{
		filter: s.Events, logger: logger, file: filepath.Join(s.Buffer.Dir, "events"), publish: func(string, []byte) {},
		log: events.NewLog(feedRecords, feedBytes, fmt.Sprintf("agent%x", time.Now().UnixMilli())),
	}
	text, err := os.ReadFile(f.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f.cursor = strings.TrimSpace(string(text))
	f.written = f.cursor
	return f, nil
}

// run follows the stream of one connection until ctx or the connection ends.
func (f *feed) run(ctx context.Context, conn *wire.Conn) {
	for {
		err := f.follow(ctx, conn)
		f.save(true)
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			return // the connection has ended, or the platform drains
		}
		f.logger.Warn("the stream of the platform's events has failed; opening it again", "error", err)
		if !f.restart(err) && lifecycle.Sleep(ctx, feedRetry) != nil {
			return
		}
	}
}

// restart replaces a cursor that the platform has refused. It reports whether it did.
func (f *feed) restart(err error) bool {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || f.cursor == "" || e.Code != wire.OutOfRange && e.Code != wire.InvalidArgument {
		return false
	}
	f.gaps.Add(1)
	f.put("paddock.gap", nil, fmt.Appendf(nil, `{"type":"paddock.gap","from":%q,"reason":"the platform does not keep the events behind the cursor any more"}`, f.cursor))
	f.cursor = ""
	_ = cbor.Unmarshal(e.Details, &f.cursor) // the oldest valid cursor, if the error has one
	return true
}

func (f *feed) follow(ctx context.Context, conn *wire.Conn) error {
	ask, err := json.Marshal(struct {
		events.Filter
		Cursor string `json:"cursor"`
	}{f.filter, f.cursor})
	if err != nil {
		return err
	}
	s, err := conn.Open(ctx, kindEvents, wire.OpenOptions{First: ask})
	if err != nil {
		return err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { _ = s.Reset(wire.Cancelled) })()
	var message []byte
	for {
		if message, err = s.ReadMsg(message[:0]); err != nil {
			return err
		}
		if err := f.take(message); err != nil {
			return err
		}
	}
}

// head holds the decoded part of a message.
type head struct {
	Type   string `json:"type"`
	Cursor string `json:"cursor"`
	Data   struct {
		Set   string `json:"set"`
		Fence struct {
			ID string `json:"id"`
		} `json:"fence"`
		Object struct {
			ID    string `json:"id"`
			Fleet string `json:"fleet"`
		} `json:"object"`
	} `json:"data"`
}

// take handles one message.
func (f *feed) take(message []byte) error {
	var h head
	if err := json.Unmarshal(message, &h); err != nil {
		return fmt.Errorf("a message of the platform: %w", err)
	}
	switch h.Type {
	case "paddock.cursor":
		f.cursor = h.Cursor
		f.save(false)
	case "paddock.gap":
		f.gaps.Add(1)
		f.put(h.Type, nil, message)
	default:
		f.events.Add(1)
		f.put(h.Type, &h, message)
	}
	return nil
}

// put adds an event or a gap to the log. It also publishes an event on the bus.
func (f *feed) put(kind string, h *head, message []byte) {
	message = bytes.Clone(message)
	r := events.Record{JSON: events.Plain(message), Arrived: track.MillisOf(time.Now())}
	if h != nil {
		r.Kind, _ = track.ParseKind(strings.TrimPrefix(kind, "paddock.fence.")) // an unknown kind counts as enter
		r.Set, r.Fence, r.Fleet, r.Object = h.Data.Set, h.Data.Fence.ID, h.Data.Object.Fleet, h.Data.Object.ID
		r.Subject = events.Subject(&track.Event{Kind: r.Kind, Set: r.Set, Fence: &fence.Fence{Key: r.Fence}, Fleet: r.Fleet, ID: r.Object})
		f.publish(r.Subject, message)
	}
	f.log.Append([]events.Record{r})
}

// save writes the cursor, at most once in cursorEvery unless now is set.
func (f *feed) save(now bool) {
	if f.cursor == f.written || !now && time.Since(f.at) < cursorEvery {
		return
	}
	if err := spool.ReplaceFile(f.file, []byte(f.cursor+"\n")); err != nil {
		f.logger.Error("the cursor of the platform's events could not be saved", "error", err)
		return
	}
	f.written, f.at = f.cursor, time.Now()
}
