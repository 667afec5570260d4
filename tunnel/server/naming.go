package server

import (
	"errors"
	"fmt"

	"paddock/internal/netio/hostname"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// maxNames is how many names are tried for one tunnel.
const maxNames = 8

// errNoNames is told to a client that has asked for no host.
var errNoNames = fmt.Errorf("%w: this server chooses no names: ask for a host", tunnel.ErrDenied)

// chosenName is a name of the policy's, in the normal form.
func chosenName(n tunnel.Namer, identity string, id uint16, try int) (string, error) {
	host, err := n.Name(identity, id, try)
	if err != nil {
		return "", err
	}
	return hostname.Normalise(host)
}

// grantAny is grant of the first free name that the policy has for a tunnel, and tells
// which it is.
func (s *Server) grantAny(x *session, ask *message.BindAsk, b *tunnel.Binding) (c *claim, code wire.Code, err error) {
	namer, ok := s.Policy.(tunnel.Namer)
	if !ok {
		return nil, wire.PermissionDenied, errNoNames
	}
	for try := range maxNames {
		if b.Host, err = chosenName(namer, x.identity, ask.ID, try); err != nil {
			return nil, wire.PermissionDenied, err
		}
		if c, code, err = s.grant(x, ask, *b); !errors.Is(err, tunnel.ErrNameHeld) {
			return c, code, err
		}
	}
	return nil, wire.AlreadyExists, tunnel.ErrNameHeld
}
