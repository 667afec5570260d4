package wireapi

import (
	"errors"
	"fmt"

	"paddock/internal/process/keyring"
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
	a.anyone, a.operator = keyring.Everything("anyone"), keyring.Everything("wire.token")
	a.secret = wire.TokenHash([]byte(a.cfg.Token))
	if g := a.cfg.Extension; g != nil {
		g.Register(mux)
		config.Authorize = g.Authorize
		a.server.AltProtocol = g.AltProtocol()
	}
	config.Verify = func(c *wire.Conn, h *wire.Hello) error {
		err := a.judge(c, h)
		if err != nil {
			a.counts.denied.Add(1)
		}
		return err
	}
}

// secretOf returns the hash of the secret that a client has to prove. Its id is the name of a key,
// or for the configured token a name that the client chooses.
func (a *API) secretOf(id string) (hash []byte, ok bool) {
	if _, digest, ok := a.cfg.Keys.Named(id); ok {
		return digest[:], true
	}
	if a.cfg.Token == "" {
		return nil, false
	}
	return a.secret[:], true
}

// prove checks that a peer knows a secret of secretOf, and keeps which one.
func (a *API) prove(c *wire.Conn, h *wire.Hello) error {
	var proved keyring.Digest
	err := wire.VerifyTokens(func(id string) ([]byte, bool) {
		hash, ok := a.secretOf(id)
		copy(proved[:], hash)
		return hash, ok
	})(c, h)
	if err != nil {
		return err
	}
	a.proofs.Store(c, proved)
	go func() {
		<-c.Done()
		a.proofs.Delete(c)
	}()
	return nil
}

// required reports whether clients have to prove something.
func (a *API) required() bool { return a.cfg.Token != "" || a.cfg.KeyRequired }

// open reports whether proofs mean nothing: none are required, and there are no keys.
func (a *API) open() bool { return !a.required() && a.cfg.Keys.Len() == 0 }

// judge checks a peer's HELLO before its other frames. It admits clients of the extension, clients
// that prove a key or the token and, where nothing is required, clients that prove nothing.
func (a *API) judge(c *wire.Conn, h *wire.Hello) error {
	extension := a.cfg.Extension
	var err error
	if extension != nil {
		err = extension.Verify(c, h)
		kept, ok := errors.AsType[*wire.Error](err)
		if err == nil || ok && kept.Code == wire.PermissionDenied {
			return err
		}
	}
	switch {
	case a.open() && (h.Auth == nil || extension == nil):
		return nil
	case h.Auth != nil && !a.open(), a.required() && extension == nil:
		return a.prove(c, h)
	case !a.required() && h.Auth == nil:
		return nil
	}
	return err
}

// grant returns what the peer of a connection may do, or nil if its key has been removed, has
// expired, or has another secret by now, or if the connection has ended.
func (a *API) grant(c *wire.Conn) *keyring.Grant {
	proved, ok := a.proofs.Load(c)
	who, keyed := c.Identity().(wire.Identity)
	switch {
	case !ok && keyed:
		return nil // the connection has ended, and its proof is forgotten
	case !ok:
		return a.anyone // of the extension, or one that proves nothing where nothing is required
	}
	if a.cfg.Token != "" && proved == a.secret {
		return a.operator
	}
	g, digest, ok := a.cfg.Keys.Named(who.Name)
	if !ok || proved != digest {
		return nil
	}
	g.Use()
	return g
}

// errEnded refuses what is served for a key that has been removed or has expired.
var errEnded = &wire.Error{Code: wire.Unauthenticated, Msg: "the key of this connection is not valid any more"}

// permit returns the grant of a connection that has one of these verbs, or the refusal.
func (a *API) permit(c *wire.Conn, verbs keyring.Verbs) (*keyring.Grant, error) {
	g := a.grant(c)
	switch {
	case g == nil:
		return nil, errEnded
	case !g.Can(verbs):
		return nil, &wire.Error{Code: wire.PermissionDenied, Msg: fmt.Sprintf("the key %.64q may not do this: it needs %v", g.Name(), verbs)}
	}
	return g, nil
}
