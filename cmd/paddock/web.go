package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"

	"golang.org/x/term"

	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/internal/website"
)

// webCmd serves static files, see docs/reference/web.md.
type webCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Directory to serve."`

	Port     uint16 `short:"p" placeholder:"PORT" default:"8080" help:"Port to listen on; 0 takes a free one (default ${default})."`
	Host     string `placeholder:"HOST" default:"127.0.0.1" help:"Address to listen on (default ${default}). Any but loopback needs --public."`
	Public   bool   `help:"Publish DIR: listen beyond this machine, and answer to any host name."`
	List     bool   `help:"Show what is in a directory that has no index.html."`
	Dotfiles bool   `help:"Serve names that begin with a dot, too; without it only .well-known."`
	Cache    int64  `placeholder:"BYTES" default:"67108864" help:"Memory for files; 0 keeps none (default ${default})."`
	Log      string `placeholder:"WHICH" enum:"requests,errors,none" default:"requests" complete:"requests,errors,none" help:"Requests to write to standard output, a line each: requests (all), errors (status 400 and above) or none (default ${default})."`
	Cert     string `placeholder:"FILE" type:"existingfile" help:"Serve over TLS with the certificates of this PEM file."`
	Key      string `placeholder:"FILE" type:"existingfile" help:"Private key of --cert."`
}

// maxWebConnections bounds the open connections; further ones wait to be accepted.
const maxWebConnections = 65_536

// Run serves until a signal stops it.
func (w *webCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	certificates, err := w.check()
	if err != nil {
		return err
	}
	listener, err := listen.Listen(ctx, w.address(), w.Public)
	if err != nil {
		return listen.OrElse(err, "--port")
	}
	defer listener.Close()
	requests := w.requests(c)
	defer requests.Close()
	site, err := website.Open(w.Dir, website.Options{
		List:       w.List,
		Dotfiles:   w.Dotfiles,
		AnyHost:    w.Public,
		CacheBytes: w.Cache,
		Requests:   requests,
		Logger:     log,
	})
	if err != nil {
		return err
	}
	defer site.Close()
	log.Info("listening", "url", w.url(listener.Addr()), "dir", w.Dir, "public", w.Public)
	group := &lifecycle.Group{Logger: log}
	group.Add(site.Service(listen.Limit(listener, maxWebConnections), certificates))
	err = group.Run(ctx)
	tell(log, site.Stats())
	return err
}

// check validates the flags, and reads the certificates.
func (w *webCmd) check() (*tls.Config, error) {
	if w.Cache < 0 {
		return nil, usagef("--cache: %d bytes are not possible", w.Cache)
	}
	if (w.Cert == "") != (w.Key == "") {
		return nil, usagef("--cert and --key come together")
	}
	err := listen.Check(w.address(), w.Public)
	if errors.Is(err, listen.ErrExposed) {
		return nil, usagef("refusing to show %s to other machines: say --public to publish it, or listen on 127.0.0.1", w.Dir)
	}
	if err != nil {
		return nil, usageError{err}
	}
	if w.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(w.Cert, w.Key)
	if err != nil {
		return nil, fmt.Errorf("--cert %s, --key %s: %w", w.Cert, w.Key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// requests returns the log of requests, in the format of the other log, or nil if there is none.
func (w *webCmd) requests(c *console) *website.RequestLog {
	if w.Log == "none" {
		return nil
	}
	json := c.flags.LogFormat == "json"
	if f, isFile := c.Stdout.(*os.File); isFile && (c.flags.LogFormat == "" || c.flags.LogFormat == "auto") {
		json = !term.IsTerminal(int(f.Fd()))
	}
	return website.NewRequestLog(c.Stdout, json, w.Log == "errors")
}

func (w *webCmd) address() string { return net.JoinHostPort(w.Host, strconv.Itoa(int(w.Port))) }

func (w *webCmd) url(addr net.Addr) string {
	if w.Cert != "" {
		return "https://" + addr.String()
	}
	return "http://" + addr.String()
}

// tell logs the totals of the run.
func tell(log *slog.Logger, s website.Stats) {
	log.Info("served", "requests", s.Requests, "short", s.Short, "missed", s.Missed, "evicted", s.Evicted, "changed", s.Changed,
		"pages", s.Pages, "bytes", s.Bytes)
}
