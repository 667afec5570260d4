package tunneld

import (
	"log/slog"
	"path/filepath"

	"paddock/internal/process/strictyaml"
	"paddock/wire"
)

// ClientSide are the entries of a client's side, for files of others that hold them
// beside their own: connect, tunnels and backoff.
func (s *Settings) ClientSide() strictyaml.Fields {
	all, side := s.fields(), strictyaml.Fields{}
	for _, key := range []string{"connect", "tunnels", "backoff"} {
		side[key] = all[key]
	}
	return side
}

// Link returns the configuration of a link to the server, with this client's credentials. The last
// result names the server's identity: it stays the same for as long as the server takes the client
// for the same. keyFile is the file of the key if the settings name none.
func (c *Connect) Link(keyFile string, log *slog.Logger) (config *wire.Config, who string, err error) {
	config, key, err := c.link(keyFile, "", log)
	if err != nil {
		return nil, "", err
	}
	config.Idle, config.Logger = idle, log
	if key == nil {
		return config, "token " + filepath.Base(c.TokenFile), nil
	}
	return config, key.ID.String(), nil
}

// Locate is as for Load: the files that the settings name are looked for in dir.
func (s *Settings) Locate(dir string) { s.locate(dir) }
