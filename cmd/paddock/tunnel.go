package main

import (
	"cmp"
	"os"
	"path/filepath"
)

// tunnelCmd is the reverse tunnel alone: services that cannot be reached, made
// reachable through a server that can. docs/guides/tunnel.md is its guide.
type tunnelCmd struct {
	ID tunnelIDCmd `cmd:"" name:"id" help:"Show the id by which others know this machine."`
}

// tunnelKey is the file of the key by which a side of the tunnel is known: the one that
// was given, or that of the user's configuration.
func tunnelKey(given, name string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usagef("no place for a key: %w; say --key FILE", err)
	}
	return filepath.Join(dir, "paddock", cmp.Or(name, clientKeyName)), nil
}

// The keys of the two sides in the user's configuration. A machine may be both.
const (
	clientKeyName = "tunnel.key"
	serverKeyName = "tunnel-server.key"
)
