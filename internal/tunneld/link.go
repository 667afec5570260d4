package tunneld

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"os"

	"paddock/internal/netio/listen"
	"paddock/internal/process/keyid"
	"paddock/wire"
)

// link returns the configuration of a link to the server, and the key that proves the client's
// identity: nil if the client uses a token. keyFile and firstSeen are as in ClientOptions.
func (c *Connect) link(keyFile, firstSeen string, log *slog.Logger) (config *wire.Config, key *keyid.Key, err error) {
	config = &wire.Config{}
	if c.TokenFile != "" {
		id, secret, err := readToken(c.TokenFile)
		if err != nil {
			return nil, nil, err
		}
		config.Auth = wire.TokenAuth(id, secret)
	} else if key, err = c.key(keyFile); err != nil {
		return nil, nil, err
	}
	if c.Plaintext {
		if err := listen.Check(c.Server, false); err != nil {
			return nil, nil, fmt.Errorf("plaintext is for this machine alone, not for %s", c.Server)
		}
	} else if config.TLS, err = c.trust(key, firstSeen, log); err != nil {
		return nil, nil, err
	}
	return config, key, nil
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
		id, secret, err := readToken(c.TokenFile)
		return config, fmt.Sprintf("token %s %x", id, wire.TokenHash(secret)), err
	}
	return config, key.ID.String(), nil
}

// key is the client's: the pair of files of the settings, or the key alone.
func (c *Connect) key(file string) (*keyid.Key, error) {
	if c.Cert != "" {
		return keyid.LoadPair(c.Cert, c.Key)
	}
	key, _, err := keyid.LoadOrMake(cmp.Or(c.Key, file))
	return key, err
}

// readToken reads a token's id and secret, "id:secret" in one line.
func readToken(file string) (id string, secret []byte, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	name, secret, ok := bytes.Cut(bytes.TrimSpace(text), []byte(":"))
	if !ok || len(name) == 0 || len(secret) == 0 {
		return "", nil, fmt.Errorf("%s: want id:secret", file)
	}
	return string(name), secret, nil
}
