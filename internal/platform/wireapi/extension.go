package wireapi

import (
	"errors"

	"paddock/wire"
)

// Extension serves further kinds on the API's connections, for its own clients.
type Extension interface {
	// Register adds its kinds.
	Register(m *wire.Mux)
	// Verify and Authorize are as in wire.Config. A client that Verify does not know may still know
	// the token. The error PERMISSION_DENIED refuses a client in any case.
	Verify(c *wire.Conn, h *wire.Hello) error
	Authorize(c *wire.Conn, kind string) error
	// AltProtocol returns the other protocols of its clients on the API's listener.
	AltProtocol() *wire.AltProtocol
}

// admit configures authentication, and adds the extension.
func (a *API) admit(mux *wire.Mux) {
	config := a.server.Config
	if a.cfg.Token != "" {
		// There is one token; its id is the name that the client chooses.
		hash := wire.TokenHash([]byte(a.cfg.Token))
		a.token = wire.VerifyTokens(func(string) ([]byte, bool) { return hash[:], true })
	}
	if g := a.cfg.Extension; g != nil {
		g.Register(mux)
		config.Authorize = g.Authorize
		a.server.AltProtocol = g.AltProtocol()
	}
	if a.token == nil && a.cfg.Extension == nil {
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

// judge checks a peer's HELLO before its other frames. It admits clients of the extension, clients
// with the token and, if there is no token, clients that present none.
func (a *API) judge(c *wire.Conn, h *wire.Hello) error {
	if a.cfg.Extension == nil {
		return a.token(c, h)
	}
	err := a.cfg.Extension.Verify(c, h)
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
