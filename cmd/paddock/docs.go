package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"paddock/internal/manual"
	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
)

// docsCmd serves the documentation that is embedded in the binary.
type docsCmd struct {
	Listen string `placeholder:"ADDR" default:"127.0.0.1:0" help:"Address to listen on; port 0 takes a free one (default ${default})."`
	Open   bool   `help:"Open the documents in the browser."`
}

// The bounds of connections. Any address may be listened on, as the documents hold no secret.
const (
	maxDocsConnections = 1024
	docsTimeout        = 10 * time.Second
)

// Run serves until a signal stops it.
func (d *docsCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	if err := listen.Check(d.Listen, true); err != nil {
		return usageError{err}
	}
	l, err := listen.Listen(ctx, d.Listen, true)
	if err != nil {
		return listen.OrElse(err, "--listen")
	}
	url := "http://" + l.Addr().String()
	log.Info("listening", "url", url)
	if d.Open {
		openBrowser(url, log)
	}
	group := &lifecycle.Group{Logger: log}
	group.Add(lifecycle.HTTP("documents", &http.Server{
		Handler: manual.New(), ReadHeaderTimeout: docsTimeout, ReadTimeout: docsTimeout, WriteTimeout: 3 * docsTimeout, IdleTimeout: 6 * docsTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}, listen.Limit(l, maxDocsConnections)))
	return group.Run(ctx)
}
