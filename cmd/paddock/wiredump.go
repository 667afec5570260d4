package main

import (
	"context"
	"io"
	"os"
	"strings"

	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/internal/wiredump"
)

// wireDumpCmd shows the frames of a file or of relayed connections.
type wireDumpCmd struct {
	Source string `arg:"" optional:"" default:"-" help:"File with what one side has sent, - for standard input; with --relay the address to connect to."`

	Relay    string `placeholder:"LISTEN" help:"Listen on this address, pass each connection on to the one that is given, and show what passes. Loopback and unix sockets only."`
	Hex      bool   `help:"The file is text: hexadecimal digits, and comments after #."`
	Body     int    `placeholder:"BYTES" default:"256" help:"Show so much of the body of each frame (default ${default})."`
	NoBody   bool   `help:"Show no bodies."`
	MaxFrame uint32 `placeholder:"BYTES" help:"What the receiver's HELLO allows as payload (default what is seen of it, else all that can be said)."`
	JSON     bool   `name:"json" help:"Print an object on each line."`
}

// Help explains the output.
func (*wireDumpCmd) Help() string {
	return `A file holds the bytes of one direction, with or without the preface:

    paddock wire dump capture.bin
    paddock wire dump --hex capture.txt

A relay shows both directions of live connections; connect to it instead:

    paddock wire dump --relay 127.0.0.1:7401 127.0.0.1:7400

Each line is a frame: type, slot (d or a for who opened it, index, generation), kind, flags, length of the payload, and what it says. -> comes from who connected, <- from the target. A line with ! says where bytes are no frame; what follows there is passed on, but not shown. Of a file that is a failure: exit code 1. The data of credentials is never shown; bodies are, --no-body hides them. TLS cannot be read.`
}

// Run shows a file, or relays until a signal.
func (d *wireDumpCmd) Run(ctx context.Context, c *console) error {
	o := wiredump.Options{Body: d.Body, MaxFrame: d.MaxFrame, JSON: d.JSON}
	if d.NoBody {
		o.Body = 0
	}
	if err := o.Check(); err != nil {
		return usageError{err}
	}
	if d.Relay != "" {
		return d.relay(ctx, c, o)
	}
	in := c.Stdin
	if d.Source != "-" {
		f, err := os.Open(d.Source)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	return d.capture(c.Stdout, in, o)
}

func (d *wireDumpCmd) capture(out io.Writer, in io.Reader, o wiredump.Options) error {
	if d.Hex {
		in = wiredump.Hex(in)
	}
	return wiredump.Capture(out, in, o)
}

func (d *wireDumpCmd) relay(ctx context.Context, c *console, o wiredump.Options) error {
	switch {
	case d.Hex:
		return usagef("--hex is for a file, not for --relay")
	case d.Source == "-":
		return usagef("--relay needs the address to connect to")
	}
	network, target := "tcp", d.Source
	if listen.IsUnix(target) {
		network, target = "unix", strings.TrimPrefix(target, "unix:")
	}
	log, err := c.Logger()
	if err != nil {
		return err
	}
	if err := listen.CheckOr(d.Relay, false, ""); err != nil {
		return usageError{err}
	}
	door, err := listen.Listen(ctx, d.Relay, false)
	if err != nil {
		return listen.OrElse(err, "--relay")
	}
	log.Info("listening", "addr", door.Addr().String(), "target", target)
	relay := &wiredump.Relay{Listener: door, Network: network, Target: target, Output: c.Stdout, Options: o}
	group := &lifecycle.Group{Logger: log}
	group.Add(lifecycle.Service{Name: "relay", Run: relay.Run})
	return group.Run(ctx)
}
