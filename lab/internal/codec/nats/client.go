package nats

import (
	"encoding/json"
	"errors"
	"fmt"

	"paddock/internal/process/version"
	"paddock/load"
)

// client is the common part of all connections: the handshake, and the answers to the server's own
// operations.
type client struct {
	codec   *Codec
	listens bool   // and sends no requests
	first   []byte // lines behind CONNECT: subscriptions
	largest int    // payload that is sent
	stage   stage
	reply   []byte // valid until the next call
	skip    int    // bytes that still come of a message that was counted
	op      Operation
}

// stage is how far a connection is.
type stage uint8

const (
	wantInfo stage = iota
	wantPong
	isReady
)

// Greet says nothing: the server speaks first.
func (*client) Greet(dst []byte) []byte { return dst }

// Ready reports whether requests may be sent. A message that is published before all listeners are
// ready is lost.
func (c *client) Ready() bool {
	return c.stage == isReady && (c.listens || c.codec.ready.Load() >= int64(c.codec.Listeners))
}

// info holds the fields of the server's INFO that matter.
type info struct {
	MaxPayload  int  `json:"max_payload"`
	Headers     bool `json:"headers"`
	TLSRequired bool `json:"tls_required"`
}

// connect is the argument of CONNECT.
type connect struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	User         string `json:"user,omitempty"`
	Pass         string `json:"pass,omitempty"`
	Token        string `json:"auth_token,omitempty"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
}

// introduce answers INFO with CONNECT, the subscriptions and a PING. When the PONG comes, the
// server has accepted all of them.
func (c *client) introduce(text []byte) error {
	var i info
	if err := json.Unmarshal(text, &i); err != nil {
		return broken(fmt.Errorf("INFO: %w", err))
	}
	switch {
	case i.TLSRequired:
		return &load.Failed{Class: load.ClassTLS, Err: errors.New("the server wants TLS, which this load does not speak")}
	case i.MaxPayload > 0 && c.largest > i.MaxPayload:
		return &load.Failed{Class: load.ClassProtocol, Err: fmt.Errorf("the server takes messages of %d bytes at most, and %d are to be sent", i.MaxPayload, c.largest)}
	}
	l := c.codec.Login
	said, err := json.Marshal(connect{
		User: l.User, Pass: l.Pass, Token: l.Token, Name: "paddock bench", Lang: "go", Version: version.Get().Version,
		Protocol: 1, Headers: i.Headers, NoResponders: i.Headers,
	})
	if err != nil {
		return err
	}
	c.reply = append(append(append(c.reply, "CONNECT "...), said...), "\r\n"...)
	c.reply = append(append(c.reply, c.first...), "PING\r\n"...)
	c.stage = wantPong
	return nil
}

// refused returns the error for a server that refuses or closes the connection.
func refused(text []byte) error {
	return &load.Failed{Class: load.ClassStatus, Err: fmt.Errorf("-ERR %q", text)}
}

// receive consumes all operations of in, and passes on all but the connection's own:
// messages, -ERR and PONG once it is ready. It keeps the bytes that on has appended to c.reply.
func (c *client) receive(in []byte, answers *load.Answers, on func(*Operation) error) (used int, err error) {
	c.reply = c.reply[:0]
	defer func() { answers.Reply = c.reply }()
	for {
		if c.skip > 0 {
			n := min(c.skip, len(in)-used)
			c.skip -= n
			used += n
			if c.skip > 0 {
				return used, nil
			}
		}
		if used == len(in) {
			return used, nil
		}
		var n int
		if c.op, n, err = Next(in[used:]); err != nil {
			return used, broken(err)
		}
		if n == 0 {
			return used, nil
		}
		used += n
		c.skip = c.op.Rest
		if err := c.handle(&c.op, on); err != nil {
			return used, err
		}
	}
}

// handle deals with one operation.
func (c *client) handle(op *Operation, on func(*Operation) error) error {
	switch {
	case op.Kind == KindPing:
		c.reply = append(c.reply, "PONG\r\n"...)
	case op.Kind == KindOK:
	case op.Kind == KindInfo:
		if c.stage == wantInfo {
			return c.introduce(op.Text)
		}
	case c.stage == wantPong && op.Kind == KindPong:
		c.stage = isReady
		if c.listens {
			c.codec.ready.Add(1)
		}
	case op.Kind == KindErr && c.stage != isReady:
		return refused(op.Text)
	case c.stage == wantInfo:
		return broken(errors.New("the server did not begin with INFO"))
	default:
		return on(op)
	}
	return nil
}

// End takes the end of the stream.
func (*client) End(*load.Answers) error { return nil }
