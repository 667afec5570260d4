package main

import (
	"context"
	"log/slog"
	"time"

	"paddock/bus"
	"paddock/internal/busd"
	"paddock/internal/process/logging"
)

// busCmd runs the broker alone, see docs/guides/bus.md. A flag that is not given leaves its setting
// to the configuration file, or to the default in the flag's help.
type busCmd struct {
	Config string   `short:"c" placeholder:"FILE" help:"Configuration file, in the grammar of nats-server; flags go over it."`
	Check  bool     `short:"t" help:"Check the configuration, and exit."`
	Ignore []string `placeholder:"KEY" help:"Take a configuration file although it asks for this, which is not here: jetstream, cluster, gateway, leafnodes or mappings."`

	Addr      *string  `short:"a" placeholder:"HOST" help:"Address to listen on (default 127.0.0.1). Any but loopback needs --auth, or --user and --pass."`
	Port      *int     `short:"p" placeholder:"PORT" help:"Port to listen on; 0 takes a free one (default 4222)."`
	Name      *string  `short:"n" placeholder:"NAME" help:"Name that clients are told (default the server's id)."`
	Unix      *string  `placeholder:"PATH" help:"Listen on this unix socket, too."`
	WSPort    *int     `name:"ws-port" placeholder:"PORT" help:"Take WebSocket clients on this port, with TLS if --tlscert is given; 0 takes a free one."`
	WSOrigin  []string `name:"ws-origin" placeholder:"ORIGIN" help:"Take WebSocket clients that are pages of this origin (https://host), or of any: *. Without credentials the default is the server's own origin."`
	Advertise *string  `name:"client-advertise" placeholder:"HOST:PORT" help:"Where clients reach this server."`

	User *string  `placeholder:"USER" help:"User that clients must give, with --pass."`
	Pass *string  `placeholder:"PASSWORD" help:"Password of the user, plain or as a bcrypt hash; better given in the environment."`
	Auth *string  `placeholder:"TOKEN" help:"Token that clients must give; better given in the environment."`
	Deny []string `placeholder:"SUBJECT" help:"Refuse what clients publish on these subjects; * and > are wildcards."`

	TLSCert   string `name:"tlscert" type:"path" placeholder:"FILE" help:"Require TLS, with this certificate."`
	TLSKey    string `name:"tlskey" type:"path" placeholder:"FILE" help:"Key of the certificate."`
	TLSCACert string `name:"tlscacert" type:"path" placeholder:"FILE" help:"Certificates of the authorities that sign those of clients, PEM."`
	TLSVerify bool   `name:"tlsverify" help:"Require a certificate of clients."`

	MaxPayload       *int           `placeholder:"BYTES" help:"Largest message with its header (default 1048576)."`
	MaxControlLine   *int           `placeholder:"BYTES" help:"Longest protocol line (default 4096)."`
	MaxPending       *int64         `placeholder:"BYTES" help:"What may wait for a client (default 67108864)."`
	SlowConsumers    string         `placeholder:"POLICY" complete:"close,drop-new,drop-old,stall" help:"What happens when more waits: close, drop-new, drop-old or stall (default close)."`
	MaxConnections   *int           `placeholder:"N" help:"Connections at once (default 65536)."`
	MaxSubscriptions *int           `placeholder:"N" help:"Subscriptions of one connection (default 100000; 0: no limit)."`
	PingInterval     *time.Duration `placeholder:"TIME" help:"Silence after which a client is asked whether it is there (default 2m)."`
	PingMax          *int           `placeholder:"N" help:"Unanswered questions after which it is not (default 2)."`
	WriteDeadline    *time.Duration `placeholder:"TIME" help:"How long a client may take no byte of what waits for it (default 10s)."`

	LameDuckDuration *time.Duration `placeholder:"TIME" help:"How long lame duck mode takes to let go of all clients (default 2m)."`
	LameDuckGrace    *time.Duration `placeholder:"TIME" help:"How long clients may leave by themselves in it (default 10s)."`
	MigrateTo        []string       `placeholder:"URL" help:"Servers that clients are told to go to in it."`

	HTTPPort     *int    `name:"http-port" short:"m" placeholder:"PORT" help:"Monitoring over HTTP on loopback; 0 takes a free port (default none)."`
	Profile      *int    `placeholder:"PORT" help:"Serve /debug/pprof on loopback; 0 takes a free port (default none)."`
	Pid          *string `short:"P" type:"path" placeholder:"FILE" help:"Write the process id to this file while running."`
	PortsFileDir *string `type:"path" placeholder:"DIR" help:"Write the addresses to the file paddock_<pid>.ports here while running."`

	Log   *string `short:"l" type:"path" placeholder:"FILE" help:"Append the log to this file, in lines as nats-server writes them."`
	Debug bool    `short:"D" help:"Log connections as they come and go, and what they are refused."`
	Trace bool    `short:"V" help:"Log the protocol: each line and the first 1,024 bytes of each payload."`

	Signal string `placeholder:"SIGNAL" help:"Send stop, quit, term, reopen, reload or ldm to a running server, and exit. SIGNAL=PID or SIGNAL=PIDFILE says which."`
}

// Run serves until a signal has drained everything: after SIGTERM or SIGINT the server stops
// accepting, delivers the published messages, and closes.
func (b *busCmd) Run(ctx context.Context, c *console) error {
	if b.Signal != "" {
		return busd.Send(b.Signal, "paddock bus", isBus)
	}
	overrides, err := b.overrides()
	if err != nil {
		return usageError{err}
	}
	program := &busd.Program{
		Source: busd.Source{Defaults: func(s *busd.Settings) { s.Ignore = b.Ignore }, File: b.Config, Overrides: overrides},
		Name:   "paddock",
		Stderr: c.Stderr,
	}
	if program.Manager, err = c.manager(); err != nil {
		return err
	}
	settings, err := program.Source.Load()
	if err != nil {
		return usageError{err}
	}
	if b.Check {
		return checked(c, b.Config, settings)
	}
	if program.Logger, err = b.logger(c, settings); err != nil {
		return err
	}
	return program.Run(ctx)
}

// logger returns the console's logger, or one for debugging or tracing if the settings ask for it.
func (b *busCmd) logger(c *console, s *busd.Settings) (*slog.Logger, error) {
	if !s.Log.Debug && !s.Log.Trace {
		return c.Logger()
	}
	o, err := c.logOptions("debug", "")
	if err != nil {
		return nil, err
	}
	if s.Log.Trace && c.flags.LogLevel == "" {
		o.Level = bus.LevelTrace
	}
	return logging.New(c.Stderr, o), nil
}
