package main

import (
	"fmt"

	"paddock/internal/tunneld"
)

// tunnelCheckCmd judges a file without doing anything.
type tunnelCheckCmd struct {
	File  string `arg:"" type:"path" help:"Configuration file: ours, or the tunnel.yml of go-http-tunnel."`
	Print bool   `help:"Print it in our own form."`
}

// Run tells all that is wrong, each with its line and column.
func (t *tunnelCheckCmd) Run(c *console) error {
	s, err := loadTunnel(t.File)
	if err != nil {
		return err
	}
	if t.Print {
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
		fmt.Fprintf(c.Stdout, "tunnel %s: %s at %s%s%s -> %s\n", x.Name, x.Protocol, x.Host, x.Path, x.Remote, x.Target)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is valid\n", t.File)
	return err
}
