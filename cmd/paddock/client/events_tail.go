package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"paddock/internal/process/lifecycle"
)

const (
	// quiet is the silence after which a connection is dead: the platform sends something every
	// 15 s.
	quiet = 45 * time.Second
	// firstPause and maxPause bound the waits before a lost connection is made again.
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// eventsTailCmd follows the events.
type eventsTailCmd struct {
	eventFilter
	remote
}

// Help describes the output, and what happens to a lost connection.
func (*eventsTailCmd) Help() string {
	return `A lost connection is made again, after growing pauses of 1 to 30 s, and goes on behind the last event that was printed. Events that the platform does not keep any more are told as a gap. At its end the command names the cursor to go on from, on standard error.

Exit codes: 0 after SIGINT or SIGTERM, 1 the platform could not be asked at first, or it has refused.

    paddock events tail --set depots --event enter
    paddock events tail --since 10m --json | jq -c .data
    paddock events tail --from-cursor 3f9a1c20b7de-5021`
}

// tail is one run of the command.
type tail struct {
	printer
	remote  *remote
	query   url.Values
	cursor  string // of the last event; "": none yet
	stderr  io.Writer
	reached bool // the platform, at least once
}

// Run prints events until a signal.
func (k *eventsTailCmd) Run(ctx context.Context, c *Console) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	q, err := k.query()
	if err != nil {
		return err
	}
	t := &tail{
		printer: printer{eventFilter: &k.eventFilter, out: c.Stdout, warnings: c.Stderr},
		remote:  &k.remote, query: q, cursor: k.FromCursor, stderr: c.Stderr,
	}
	if err = t.locate(ctx); err == nil {
		err = t.run(ctx)
	}
	if t.cursor != "" {
		fmt.Fprintf(c.Stderr, "go on with --from-cursor %s\n", t.cursor)
	}
	return err
}

// locate asks for the cursor of now, if the flags do not tell where to begin. Without it, events
// that happen while a connection is lost before the first event would be missed.
func (t *tail) locate(ctx context.Context) error {
	if t.cursor != "" || t.query.Get("from") != "" || t.query.Get("last") != "" {
		return nil
	}
	res, err := t.remote.open(ctx, http.MethodGet, pathOf("events")+"?wait=0&last=1&limit=1", nil, nil)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	t.cursor = res.Header.Get("Paddock-Cursor")
	return res.Body.Close()
}

// run follows the stream, and makes it again when it is lost.
func (t *tail) run(ctx context.Context) error {
	pause := firstPause
	for {
		err := t.follow(ctx, func() { pause = firstPause })
		refused, isRefused := errors.AsType[*statusError](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case isRefused && refused.status == http.StatusGone && refused.oldest != "":
			if err := t.skipTo(refused.oldest); err != nil {
				return err
			}
			continue
		case isRefused && refused.status != http.StatusServiceUnavailable && refused.status != http.StatusTooManyRequests,
			!t.reached, isPrinting(err):
			return err
		case err == nil:
			err = errors.New("the platform has ended the stream")
		}
		wait := pause + rand.N(pause/4+1)
		fmt.Fprintf(t.stderr, "the connection is lost: %s; trying again in %v\n", plain(err.Error()), wait.Round(time.Second/10))
		if lifecycle.Sleep(ctx, wait) != nil {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// skipTo begins at the oldest cursor in place of one that is not kept any more, and tells of the
// gap. The error is one of printing that.
func (t *tail) skipTo(oldest string) error {
	record, _ := json.Marshal(map[string]string{ // texts always encode
		"type": gapType, "from": t.cursor, "to": oldest, "reason": "they are no longer kept",
	})
	if _, err := t.print(record); err != nil {
		return err
	}
	t.begin(oldest)
	return nil
}

// begin has the next request begin behind a cursor.
func (t *tail) begin(cursor string) {
	t.cursor = cursor
	for _, name := range []string{"from", "last"} {
		t.query.Del(name)
	}
}

// printError is an error of standard output, after which there is no use in a further event.
type printError struct{ error }

func (e printError) Unwrap() error { return e.error }

func isPrinting(err error) bool {
	_, ok := errors.AsType[printError](err)
	return ok
}

// follow opens the stream, and prints its events until it ends.
func (t *tail) follow(ctx context.Context, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(quiet, func() { cancel(fmt.Errorf("nothing has come for %v", quiet)) })
	defer watch.Stop()
	t.query.Set("format", "sse")
	t.query.Set("cursor", t.cursor)
	res, err := t.remote.open(ctx, http.MethodGet, withQuery(pathOf("events"), t.query), nil, nil)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer res.Body.Close()
	opened()
	t.reached = true
	return causeOf(ctx, t.read(res.Body, func() { watch.Reset(quiet) }))
}

// causeOf returns why a context has been cancelled, or err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// read reads server-sent events: the fields id and data, each of one line as the platform writes
// them.
func (t *tail) read(in io.Reader, alive func()) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	var id string
	var data []byte
	for lines.Scan() {
		alive()
		line := lines.Bytes()
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(data) > 0 {
				if _, err := t.print(data); err != nil {
					return printError{err}
				}
			}
			if data = data[:0]; id != "" {
				t.begin(id)
			}
		case string(name) == "id":
			id = string(value)
		case string(name) == "data":
			data = append(data[:0], value...)
		}
	}
	return lines.Err()
}
