package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"paddock/internal/process/config"
	"paddock/internal/process/keyid"
	"paddock/internal/process/version"
	"paddock/internal/tunneld"
)

// tunnelCmd runs the reverse tunnel alone: it makes services behind NAT or a firewall reachable
// through a server. See docs/guides/tunnel.md.
type tunnelCmd struct {
	Serve tunnelServeCmd `cmd:"" help:"Run the tunnel server: accept visitors and forward them to connected clients."`
	HTTP  tunnelHTTPCmd  `cmd:"" name:"http" help:"Make a local HTTP service reachable under a host name."`
	TCP   tunnelTCPCmd   `cmd:"" name:"tcp" help:"Make a local TCP service reachable at an address of the server."`
	SNI   tunnelSNICmd   `cmd:"" name:"sni" help:"Make a local TLS service reachable under a host name, without ending TLS."`
	Start tunnelStartCmd `cmd:"" help:"Make the services of a file reachable, be it ours or one of go-http-tunnel."`
	List  tunnelListCmd  `cmd:"" help:"Show the clients of a server, and the names of each."`
	Kick  tunnelKickCmd  `cmd:"" help:"End the connection of a client, and keep it out for a while."`
	Check tunnelCheckCmd `cmd:"" help:"Say what is wrong with a file, or what it means."`
	ID    tunnelIDCmd    `cmd:"" name:"id" help:"Show the id by which others know this machine."`
}

// Help describes the order of their use.
func (*tunnelCmd) Help() string {
	return `On the machine with the service "id" prints how it is known; on the server "serve --allow ID=HOST" lets it in, and prints the command with which it connects. Both sides take a file instead of flags (-c).

Exit codes of a client: 0 ended as asked, 1 failed, 2 the command line or the file is wrong, 3 the server refused it at the first attempt, bound none of its tunnels, or is not the expected one, 4 no connection for longer than max_time.`
}

// Exit codes of the commands that connect, beside those of all commands.
const (
	exitRefused = 3
	exitGaveUp  = 4
)

// tunnelError is an error of a client with its exit code.
type tunnelError struct{ error }

func (e tunnelError) Unwrap() error { return e.error }

// ExitCode is 3 if the server refused the client before it was ever admitted, 4 if it was away,
// else 1.
func (e tunnelError) ExitCode() int {
	switch {
	case errors.Is(e, tunneld.ErrRefused):
		return exitRefused
	case errors.Is(e, tunneld.ErrGaveUp):
		return exitGaveUp
	}
	return exitFailure
}

// otherSections are the sections of paddock.yaml that the tunnel ignores.
var otherSections = append(config.Sections(), "webhooks", "sinks", "sources")

// tunnelKey returns the file of a key that identifies a side of the tunnel: the given one, or the
// one in the user's configuration directory.
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

// tunnelControl returns the default control socket of a server: in XDG_RUNTIME_DIR, else in the
// user's configuration directory. It returns "" if the user has neither directory.
func tunnelControl() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "paddock-tunnel.sock")
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "paddock", "tunnel.sock")
}

// The keys of the two sides in the user's configuration. A machine may be both.
const (
	clientKeyName = "tunnel.key"
	serverKeyName = "tunnel-server.key"
)

// tunnelAgent returns the name under which both sides introduce themselves.
func tunnelAgent() string { return "paddock/" + version.Get().Version }

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
		var link *os.LinkError
		if errors.As(err, &where) || errors.As(err, &link) {
			return err // of reading or making the file
		}
		return usageError{err} // the file exists, but holds no usable key
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
