package main

import (
	"errors"
	"fmt"
	"io/fs"

	"paddock/internal/process/keyid"
)

// tunnelIDCmd prints the id for a server's list of clients, or for a client's --server-id.
type tunnelIDCmd struct {
	Key    string `type:"path" placeholder:"FILE" help:"File of the private key, PEM; made if it does not exist (default paddock/tunnel.key in the user's configuration directory)."`
	Server bool   `help:"The id of \"paddock tunnel serve\" on this machine: its default key is another one."`
	JSON   bool   `name:"json" help:"Print an object with id, key and made."`
}

// Run prints the id, and makes the key first if there is none.
func (t *tunnelIDCmd) Run(c *console) error {
	name := clientKeyName
	if t.Server {
		name = serverKeyName
	}
	path, err := tunnelKey(t.Key, name)
	if err != nil {
		return err
	}
	key, made, err := keyid.LoadOrMake(path)
	if err != nil {
		var where *fs.PathError
		if !errors.As(err, &where) { // the file exists, but holds no usable key
			return usageError{err}
		}
		return err
	}
	if made {
		fmt.Fprintln(c.Stderr, "made the key", path)
	}
	if t.JSON {
		return c.printJSON(struct {
			ID   keyid.ID `json:"id"`
			Key  string   `json:"key"`
			Made bool     `json:"made"`
		}{key.ID, path, made})
	}
	_, err = fmt.Fprintln(c.Stdout, key.ID)
	return err
}
