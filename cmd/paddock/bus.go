package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"paddock/bus"
	"paddock/internal/lifecycle"
	"paddock/internal/listen"
)

// busCmd is the broker alone. docs/bus.md is its guide.
type busCmd struct {
	Addr string `short:"a" placeholder:"HOST" default:"127.0.0.1" help:"Address to listen on (default ${default}). Any but loopback needs --auth, or --user and --pass."`
	Port int    `short:"p" placeholder:"PORT" default:"4222" help:"Port to listen on; 0 takes a free one (default ${default})."`
	Name string `short:"n" placeholder:"NAME" help:"Name that clients are told (default the server's id)."`

	User string   `placeholder:"USER" help:"User that clients must give, with --pass."`
	Pass string   `placeholder:"PASSWORD" help:"Password of the user; better given in the environment."`
	Auth string   `placeholder:"TOKEN" help:"Token that clients must give; better given in the environment."`
	Deny []string `placeholder:"SUBJECT" help:"Refuse what clients publish on these subjects; * and > are wildcards."`

	MaxPayload       int           `placeholder:"BYTES" default:"1048576" help:"Largest message with its header (default ${default})."`
	MaxControlLine   int           `placeholder:"BYTES" default:"4096" help:"Longest protocol line (default ${default})."`
	MaxPending       int64         `placeholder:"BYTES" default:"67108864" help:"What may wait for a client before it is closed as too slow (default ${default})."`
	MaxConnections   int           `placeholder:"N" default:"65536" help:"Connections at once (default ${default})."`
	MaxSubscriptions int           `placeholder:"N" help:"Subscriptions of one connection (default no limit)."`
	PingInterval     time.Duration `placeholder:"TIME" default:"2m" help:"Silence after which a client is asked whether it is there (default ${default})."`
	PingMax          int           `placeholder:"N" default:"2" help:"Unanswered questions after which it is not (default ${default})."`
	WriteDeadline    time.Duration `placeholder:"TIME" default:"10s" help:"How long one write to a client may take (default ${default})."`

	Pid string `short:"P" type:"path" placeholder:"FILE" help:"Write the process id to this file while running."`
}

// Run serves until a signal has drained everything: SIGTERM and SIGINT stop
// accepting, deliver what was published, and close.
func (b *busCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	server, err := b.server(log)
	if err != nil {
		return usageError{err}
	}
	group := &lifecycle.Group{Logger: log}
	group.Add(lifecycle.Service{
		Name: "bus",
		Start: func(ctx context.Context) error {
			if err := server.Start(); err != nil {
				return err
			}
			if err := b.writePid(); err != nil {
				return errors.Join(err, server.Shutdown(ctx))
			}
			log.Info("Server is ready")
			return nil
		},
		Drain: func(ctx context.Context) error {
			return errors.Join(server.Shutdown(ctx), b.removePid())
		},
	})
	return group.Run(ctx)
}

// server checks the flags before anything runs.
func (b *busCmd) server(log *slog.Logger) (*bus.Server, error) {
	port := b.Port
	if port == 0 {
		port = -1
	}
	at := net.JoinHostPort(b.Addr, strconv.Itoa(max(b.Port, 0)))
	if err := listen.Check(at, b.Auth != "" || b.User != ""); err != nil {
		return nil, err
	}
	return bus.New(bus.Config{
		Host: b.Addr, Port: port, ServerName: b.Name,
		Username: b.User, Password: b.Pass, Token: b.Auth, DenyPublish: b.Deny,
		MaxPayload: b.MaxPayload, MaxControlLine: b.MaxControlLine, MaxPending: b.MaxPending,
		MaxConns: b.MaxConnections, MaxSubs: b.MaxSubscriptions,
		PingInterval: b.PingInterval, PingMax: b.PingMax, WriteDeadline: b.WriteDeadline,
		Logger: log,
	})
}

// writePid renames the file into place: who sees it finds the whole number, and
// a server that listens.
func (b *busCmd) writePid() error {
	if b.Pid == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(b.Pid), ".pid-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), b.Pid)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

func (b *busCmd) removePid() error {
	if b.Pid == "" {
		return nil
	}
	return os.Remove(b.Pid)
}
