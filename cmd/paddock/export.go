package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"paddock/cmd/paddock/client"
	"paddock/cmd/paddock/output"
	"paddock/fence/track"
	"paddock/internal/platform"
	"paddock/internal/platform/history/export"
	"paddock/internal/platform/journal"
	"paddock/internal/process/config"
)

// exportCmd writes a table of the past.
type exportCmd struct {
	Parquet string `xor:"form" required:"" placeholder:"FILE" help:"Write Parquet, compressed by zstd."`
	CSV     string `name:"csv" xor:"form" required:"" placeholder:"FILE" help:"Write CSV; - is standard output."`
	NDJSON  string `name:"ndjson" xor:"form" required:"" placeholder:"FILE" help:"Write a JSON object on each line; - is standard output."`

	Visits bool `xor:"kind" help:"Visits in place of positions."`
	Events bool `xor:"kind" help:"Events in place of positions."`

	Data    string `xor:"source" placeholder:"DIR" help:"The data directory of a stopped platform (default as for up)."`
	Backup  string `xor:"source" placeholder:"FILE" help:"A backup in place of a directory; it is restored into a temporary one."`
	URL     string `name:"url" xor:"source" placeholder:"URL" help:"A running platform in place of a directory, such as http://127.0.0.1:8080."`
	Context string `xor:"source" placeholder:"NAME" complete:"context" help:"The platform of a context, see paddock context, in place of a directory."`
	Token   string `placeholder:"TOKEN" help:"A key of the platform, or its token (default $PADDOCK_HTTP_TOKEN)."`

	Fleet  string `placeholder:"NAME" help:"Only this fleet."`
	Object string `placeholder:"ID" help:"Only this object."`
	From   string `placeholder:"TIME" help:"Only from this time on, as 2026-01-31T15:04:05Z. A visit counts if it ends then or later."`
	To     string `placeholder:"TIME" help:"Only before this time. A visit counts if it begins before."`

	JSON bool `name:"json" help:"Print an object with file, format, kind, rows, objects and bytes."`
}

// Run writes the table, and says how large it is.
func (e *exportCmd) Run(ctx context.Context, c *console) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // so that no part of a file is left
	defer stop()
	format, kind, file := e.table()
	if file == "-" && (format == export.Parquet || e.JSON) {
		return usagef("--%s -: Parquet and --json need a file", format)
	}
	query, err := e.query()
	if err != nil {
		return err
	}
	shown := c.progress()
	defer shown.End()
	source, err := e.open(ctx, c, shown)
	if err != nil {
		return err
	}
	var count export.Count
	bytes, err := output.Write(c.Stdout, file, func(w io.Writer) (err error) {
		count, err = export.Write(ctx, w, format, kind, source, query, func(n export.Count) {
			shown.Show("%d %s", n.Rows, kind)
		})
		return err
	})
	if err = errors.Join(err, source.Close()); err != nil {
		return err
	}
	shown.End()
	switch {
	case e.JSON:
		return c.printJSON(struct {
			File   string        `json:"file"`
			Format export.Format `json:"format"`
			Kind   export.Kind   `json:"kind"`
			Bytes  int64         `json:"bytes"`
			export.Count
		}{file, format, kind, bytes, count})
	case file != "-":
		fmt.Fprintf(c.Stdout, "%s: %d %s, %v\n", file, count.Rows, kind, config.Size(bytes))
	}
	return nil
}

// table returns the form, the kind and the file of the table.
func (e *exportCmd) table() (format export.Format, kind export.Kind, file string) {
	kind = export.Positions
	switch {
	case e.Visits:
		kind = export.Visits
	case e.Events:
		kind = export.Events
	}
	switch {
	case e.Parquet != "":
		return export.Parquet, kind, e.Parquet
	case e.CSV != "":
		return export.CSV, kind, e.CSV
	}
	return export.NDJSON, kind, e.NDJSON
}

func (e *exportCmd) query() (q export.Query, err error) {
	q = export.Query{Fleet: e.Fleet, Object: e.Object, From: math.MinInt64, To: math.MaxInt64}
	for _, bound := range []struct {
		flag, text string
		to         *track.Millis
	}{{"from", e.From, &q.From}, {"to", e.To, &q.To}} {
		if bound.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, bound.text)
		if err != nil {
			return q, usagef("--%s %s: not a time of RFC 3339 such as 2026-01-31T15:04:05Z", bound.flag, bound.text)
		}
		*bound.to = track.MillisOf(t)
	}
	if q.From >= q.To {
		return q, usagef("--to %s is not behind --from %s", e.To, e.From)
	}
	return q, nil
}

// open opens what the table is made of.
func (e *exportCmd) open(ctx context.Context, c *console, shown *output.Progress) (export.Source, error) {
	if e.Context != "" {
		address, key, err := client.Platform(e.Context, e.Token)
		if err != nil {
			return nil, err
		}
		return &export.Server{URL: address, Token: key}, nil
	}
	if e.URL != "" {
		if u, err := url.Parse(e.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usagef("--url %s: not an address such as http://127.0.0.1:8080", e.URL)
		}
		return &export.Server{URL: e.URL, Token: cmp.Or(e.Token, os.Getenv("PADDOCK_HTTP_TOKEN"))}, nil
	}
	if e.Backup != "" {
		return e.openBackup(ctx, c, shown)
	}
	dir, err := dataDir(e.Data)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, usagef("--data off: there is nothing to export")
	}
	return e.openDir(ctx, c, dir)
}

func (e *exportCmd) openDir(ctx context.Context, c *console, dir string) (export.Source, error) {
	log, err := c.LoggerOver("warn", "")
	if err != nil {
		return nil, err
	}
	source, err := platform.Past(ctx, dir, log)
	switch {
	case errors.Is(err, journal.ErrLocked):
		return nil, fmt.Errorf("%w; a running platform is exported by --url, or by --backup from a backup of it", err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return source, nil
}

// openBackup restores a backup into a temporary directory, which goes with the source.
func (e *exportCmd) openBackup(ctx context.Context, c *console, shown *output.Progress) (_ export.Source, err error) {
	f, err := os.Open(e.Backup)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "paddock-export-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := platform.Restore(&output.Reader{Reader: f, To: shown, Verb: "restored"}, dir); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Backup, err)
	}
	source, err := e.openDir(ctx, c, dir)
	return temporary{source, dir}, err
}

// temporary is a source in a directory of its own.
type temporary struct {
	export.Source
	dir string
}

// Close implements [export.Source].
func (t temporary) Close() error { return errors.Join(t.Source.Close(), os.RemoveAll(t.dir)) }
