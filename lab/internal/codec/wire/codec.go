// Package wire speaks wire for load's engines, over the machine that wire's own
// connections run on: acknowledged posts, requests, and streams that the other side counts.
package wire

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"paddock/internal/wire/frame"
	"paddock/load"
	"paddock/wire"
)

// Do is the kind of load that the connections make.
type Do uint8

// The kinds of load.
const (
	Post    Do = iota // posts, done when the server has acknowledged them: it has handled them
	Request           // requests, done when their answer is complete
	Stream            // streams of messages, done when the server has answered how many it got
)

// Codec makes load on a service that speaks wire. It is safe for any number of runs.
type Codec struct {
	Do   Do
	Kind string
	// Bodies are those of posts and requests, in turns, or the message of streams.
	Bodies [][]byte
	// Messages is how many each stream has.
	Messages int
	// Depth is how many may be under way on a connection, as in the plan.
	Depth int
	// Login holds the credentials; nil = none.
	Login *wire.Auth
	// Prove, over TLS, makes the credentials of each connection, such as [wire.TokenAuth];
	// nil = Login.
	Prove func(net.Conn) (*wire.Auth, error)
}

// Check refuses invalid combinations.
func (c *Codec) Check() error {
	switch {
	case !frame.ValidKindName(c.Kind):
		return fmt.Errorf("%q is no name of a kind", c.Kind)
	case len(c.Bodies) == 0:
		return errors.New("there is nothing to send")
	case c.Do == Stream && (c.Messages < 1 || len(c.Bodies[0]) == 0):
		return errors.New("a stream has a message at least, and that a byte")
	}
	return nil
}

// TokenLogin is the proof of a token, which is the same for every connection that stays on
// this machine. Over TLS each connection needs its own, see Codec.Prove.
func TokenLogin(network, address, id, secret string) (*wire.Auth, error) {
	nc, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	return wire.TokenAuth(id, []byte(secret))(nc)
}

// Secure is base as wire wants TLS to be, for a server at an address; nil if base is.
func Secure(base *tls.Config, address string) *tls.Config {
	if base == nil {
		return nil
	}
	config := base.Clone()
	host, _, _ := net.SplitHostPort(address)
	config.ServerName = cmp.Or(config.ServerName, host)
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{wire.ALPN}
	return config
}

// Name is "wire".
func (*Codec) Name() string { return "wire" }

// Thread returns the state of a thread, which is the codec's.
func (c *Codec) Thread(int, int) load.Thread { return thread{c} }

type thread struct{ *Codec }

// Session returns the state of a connection.
func (t thread) Session() load.Session { return &session{codec: t.Codec, login: t.Login} }
