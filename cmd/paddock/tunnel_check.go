package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/tunneld"
)

// tunnelCheckCmd validates a file without starting anything.
type tunnelCheckCmd struct {
	File    string   `arg:"" type:"path" help:"Configuration file: ours, or the tunnel.yml of go-http-tunnel."`
	Names   []string `arg:"" optional:"" help:"With --connect: the tunnels to ask for; all of the file without a name."`
	Print   bool     `xor:"what" help:"Print it in our own form."`
	Connect bool     `xor:"what" help:"Ask the server what it would bind, which binds nothing and disturbs no client, and dial each local service once."`
	JSON    bool     `name:"json" help:"With --connect: print an object with server, id and tunnels."`
}

// checkPatience bounds the time of --connect.
const checkPatience = 30 * time.Second

// Help describes the exit codes of --connect.
func (*tunnelCheckCmd) Help() string {
	return `With --connect the exit code is 0 if every tunnel would work, 3 if the server does not let this machine in or have one of them, and 1 if it is away or a local service is.`
}

// Run prints every mistake with its line and column.
func (t *tunnelCheckCmd) Run(ctx context.Context, c *console) error {
	s, err := loadTunnel(t.File)
	switch {
	case err != nil:
		return err
	case t.Connect:
		return t.connect(ctx, c, s)
	case t.JSON || len(t.Names) > 0:
		return usageError{errors.New("names and --json are for --connect")}
	case t.Print:
		text, err := tunneld.Print(s)
		if err != nil {
			return usagef("%s: %w", t.File, err)
		}
		_, err = c.Stdout.Write(text)
		return err
	}
	for _, p := range s.Clients {
		fmt.Fprintf(c.Stdout, "client %s\n", p.Name)
	}
	for _, x := range s.Tunnels {
		fmt.Fprintf(c.Stdout, "tunnel %s: %s at %s%s%s -> %s%s\n", x.Name, x.Protocol, x.Host, x.Path, x.Remote, x.Target, shownGroup(x.Group))
	}
	for _, fault := range s.Faults() {
		fmt.Fprintln(c.Stderr, "paddock: warning:", fault)
	}
	if s.Serves() {
		lines, warnings := s.Needs(tunneld.OpenFiles())
		for _, line := range lines {
			fmt.Fprintln(c.Stdout, line)
		}
		for _, line := range warnings {
			fmt.Fprintln(c.Stderr, "paddock: warning:", line)
		}
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is valid\n", t.File)
	return err
}

// connect asks the server about the tunnels of the file.
func (t *tunnelCheckCmd) connect(ctx context.Context, c *console, s *tunneld.Settings) error {
	if s.Connect.Server == "" {
		return usagef("%s: tunnel.connect says no server", t.File)
	}
	key, err := tunnelKey("", clientKeyName)
	if err != nil {
		return err
	}
	options := tunneld.ClientOptions{Settings: s, Names: t.Names, Key: key, FirstSeen: firstSeenBy(s, t.File), Agent: tunnelAgent()}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	check, failed := tunneld.CheckServer(ctx, options)
	if t.JSON {
		err = c.printJSON(check)
	} else {
		err = t.print(c, &check)
	}
	if failed != nil {
		return tunnelError{failed}
	}
	return err
}

func (t *tunnelCheckCmd) print(c *console, check *tunneld.Check) (err error) {
	for _, x := range check.Tunnels {
		switch {
		case x.Refused != "":
			_, err = fmt.Fprintf(c.Stdout, "%s: refused: %s\n", x.Name, x.Refused)
		case x.Fault == "":
			mode := ""
			if x.Mode != "" {
				mode = ", " + x.Mode
			}
			_, err = fmt.Fprintf(c.Stdout, "%s: %s -> %s%s%s\n", x.Name, x.Where, x.Target, mode, shownGroup(x.Group))
		}
		if x.Fault != "" {
			_, err = fmt.Fprintf(c.Stdout, "%s: %s takes no connection: %s\n", x.Name, x.Target, x.Fault)
		}
	}
	return err
}

// shownGroup returns the group for the end of a tunnel's line, "" without a group.
func shownGroup(group string) string {
	if group == "" {
		return ""
	}
	return ", group " + group
}
