package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/lab/perf"
	"paddock/lab/process"
)

// wireServeCmd runs the perf server, see docs/guides/bench-wire.md.
type wireServeCmd struct {
	Addr    string `short:"a" placeholder:"ADDR" default:"127.0.0.1:7400" help:"Address to listen on, host:port or unix:path; port 0 takes a free one (default ${default}). Any but loopback needs --token and --tls."`
	Token   string `placeholder:"TOKEN" help:"Token that clients must give; better given in the environment."`
	TLS     bool   `name:"tls" help:"Speak TLS, with --cert or else a certificate made for this run, whose fingerprint is printed behind the address."`
	Cert    string `type:"path" placeholder:"FILE" help:"Certificate chain, PEM; with --tls and --key."`
	Key     string `type:"path" placeholder:"FILE" help:"Private key of --cert, PEM."`
	Journal string `type:"path" placeholder:"FILE" help:"Write each acknowledged post to this file before it is acknowledged, and go on from what it holds."`
	Profile string `type:"path" placeholder:"FILE" help:"Write a profile of the processor's time to this file."`

	Seen       string        `hidden:"" type:"path" help:"Write which verified bodies have reached a handler to this file, before it runs."`
	Delay      time.Duration `hidden:"" help:"Let verified requests and streams wait so long before their first answer."`
	WithParent bool          `hidden:"" help:"End with the standard input, and not on SIGINT."`
}

// Help describes the output.
func (*wireServeCmd) Help() string {
	return `It answers the kinds perf.post, perf.request, perf.streamtx and perf.streamrx, which "paddock bench wire --addr ADDR" measures. The first line of its standard output is the address that it listens on.`
}

// Run serves until a signal has drained everything.
func (w *wireServeCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return usageError{err}
	}
	secure, fingerprint, err := w.certificate()
	if err != nil {
		return err
	}
	server, err := perf.NewServer(perf.ServerOptions{Token: w.Token, TLS: secure, Journal: w.Journal, Seen: w.Seen, Delay: w.Delay, Logger: log})
	if err != nil {
		return err
	}
	group := &lifecycle.Group{Logger: log}
	watch := func() {}
	if w.WithParent {
		group.Signals, watch = untilEOF(c.Stdin)
	}
	var listener net.Listener
	group.Add(profiling(w.Profile))
	group.Add(lifecycle.Service{
		Name: "wire",
		Start: func(ctx context.Context) (err error) {
			if listener, err = listen.Listen(ctx, w.Addr, w.Token != ""); err != nil {
				return errors.Join(listen.OrElse(err, "--addr"), server.Shutdown(ctx))
			}
			log.Info("listening", "addr", listener.Addr().String(), "tls", w.TLS, "token", w.Token != "", "journal", w.Journal)
			_, err = fmt.Fprintln(c.Stdout, addressLine(listener.Addr(), fingerprint))
			watch() // after the address is printed, so that the parent always receives it
			return err
		},
		Run:   func(context.Context) error { return server.Serve(listener) },
		Drain: server.Shutdown,
	})
	return group.Run(ctx)
}

// check refuses to listen beyond loopback without a token, or with a token but without TLS.
func (w *wireServeCmd) check() error {
	err := listen.Check(w.Addr, w.Token != "")
	if err == nil && !w.TLS && listen.Check(w.Addr, false) != nil {
		return errors.New("beyond this machine a token needs --tls")
	}
	return err
}

// certificate returns the TLS configuration, and the fingerprint of a certificate made here.
func (w *wireServeCmd) certificate() (config *tls.Config, fingerprint string, err error) {
	if (w.Cert == "") != (w.Key == "") || w.Cert != "" && !w.TLS {
		return nil, "", usagef("--cert, --key and --tls go together")
	}
	if !w.TLS {
		return nil, "", nil
	}
	var cert tls.Certificate
	if w.Cert != "" {
		if cert, err = tls.LoadX509KeyPair(w.Cert, w.Key); err != nil {
			return nil, "", usageError{err}
		}
	} else {
		if cert, err = perf.SelfSigned(); err != nil {
			return nil, "", err
		}
		fingerprint = perf.Fingerprint(cert)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}, fingerprint, nil
}

// addressLine returns the line for scripts: the address to dial, and the fingerprint of a
// certificate made here.
func addressLine(addr net.Addr, fingerprint string) string {
	line := addr.String()
	if addr.Network() == "unix" {
		line = "unix:" + line
	}
	if fingerprint != "" {
		line += " " + fingerprint
	}
	return line
}

// untilEOF stops a server when its standard input ends, which happens when its parent process ends
// for any reason. It ignores SIGINT, which is for the parent. watch begins to read.
func untilEOF(r io.Reader) (stop <-chan os.Signal, watch func()) {
	signal.Ignore(os.Interrupt)
	ended := make(chan os.Signal, 1) // the reader need not wait
	return ended, func() {
		go func() {
			_, _ = io.Copy(io.Discard, r)
			ended <- os.Interrupt
		}()
	}
}

// profiling is a service that writes a CPU profile to a file. Without a file it does nothing.
func profiling(file string) lifecycle.Service {
	var stop func() error
	return lifecycle.Service{
		Name: "profile",
		Start: func(context.Context) (err error) {
			stop, err = process.Profile(file)
			return err
		},
		Drain: func(context.Context) error { return stop() },
	}
}
