package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"paddock/internal/tunneld"
)

// tunnelStartCmd offers the services of a file.
type tunnelStartCmd struct {
	Config string   `short:"c" required:"" type:"path" placeholder:"FILE" help:"Configuration file: ours, or the tunnel.yml of go-http-tunnel as it is."`
	Names  []string `arg:"" optional:"" help:"The tunnels to start; all of the file without a name."`
}

// Run prints the public address of each tunnel.
func (t *tunnelStartCmd) Run(ctx context.Context, c *console) error {
	s, err := loadTunnel(t.Config)
	if err != nil {
		return err
	}
	if s.Connect.Server == "" {
		return usagef("%s: tunnel.connect says no server", t.Config)
	}
	return connect(ctx, c, s, t.Names, firstSeenBy(s, t.Config), true)
}

// firstSeenBy returns the file that stores the id of the server that a file of go-http-tunnel named
// at first contact; "" for our own form.
func firstSeenBy(s *tunneld.Settings, file string) string {
	if !s.Original {
		return ""
	}
	return file + ".server-id"
}

// loadTunnel reads a file of either form.
func loadTunnel(file string) (*tunneld.Settings, error) {
	s, err := tunneld.Load(file, otherSections)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s:\n%w", file, err)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return s, nil
}
