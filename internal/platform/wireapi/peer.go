package wireapi

import (
	"errors"

	"paddock/wire"
)

// Guest serves kinds of its own on the API's connections, and knows peers of its own.
type Guest interface {
	// Register adds its kinds.
	Register(m *wire.Mux)
	// Verify and Authorize are as in wire.Config. Whom Verify does not know may still know
	// the token; PERMISSION_DENIED is for whom it knows and keeps out.
	Verify(c *wire.Conn, h *wire.Hello) error
	Authorize(c *wire.Conn, kind string) error
	// Beside is what else its peers speak at the API's listener.
	Beside() *wire.AltProtocol
}

// admit sets up who may connect, and with whom connections are shared.
func (a *API) admit(mux *wire.Mux) {
	config := a.server.Config
	if a.cfg.Token != "" {
		// There is one token; its id is what a client calls itself.
		hash := wire.TokenHash([]byte(a.cfg.Token))
		a.token = wire.VerifyTokens(func(string) ([]byte, bool) { return hash[:], true })
	}
	if g := a.cfg.Guest; g != nil {
		g.Register(mux)
		config.Authorize = g.Authorize
		a.server.AltProtocol = g.Beside()
	}
	if a.token == nil && a.cfg.Guest == nil {
		return
	}
	config.Verify = func(c *wire.Conn, h *wire.Hello) error {
		err := a.judge(c, h)
		if err != nil {
			a.counts.denied.Add(1)
		}
		return err
	}
}

// judge looks at a peer's HELLO before anything else of the peer is looked at: it lets in
// whom the guest knows, whoever knows the token, and without a token whoever shows none.
func (a *API) judge(c *wire.Conn, h *wire.Hello) error {
	if a.cfg.Guest == nil {
		return a.token(c, h)
	}
	err := a.cfg.Guest.Verify(c, h)
	kept, ok := errors.AsType[*wire.Error](err)
	switch {
	case err == nil, ok && kept.Code == wire.PermissionDenied:
		return err
	case a.token != nil && h.Auth != nil:
		return a.token(c, h)
	case a.token == nil && h.Auth == nil:
		return nil
	}
	return err
}
