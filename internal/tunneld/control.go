package tunneld

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"paddock/tunnel/server"
	"paddock/wire"
)

// The kinds of docs/design/tunnel/SPEC.md section 9.
const (
	kindList = "tunnel.list"
	kindKick = "tunnel.kick"
	kinds    = "tunnel." // how all of the tunnel's begin
)

const (
	// listPage is how many sessions one answer has at most, and listNames how many names
	// each of them: an answer stays below the 1 MiB that a caller gathers.
	listPage, listNames = 100, 32
	// maxBlock bounds for how long a client can be kept out by a kick.
	maxBlock = 24 * time.Hour
	// leastPrefix is how much of an id stands for all of it.
	leastPrefix = 8
)

// The bodies.
type (
	listRequest struct {
		After string `cbor:"1,keyasint,omitempty"`
		Most  int    `cbor:"2,keyasint,omitempty"`
	}
	listAnswer struct {
		Sessions []SessionLine `cbor:"1,keyasint,omitempty"`
		More     bool          `cbor:"2,keyasint,omitempty"`
	}
	kickRequest struct {
		Who  string `cbor:"1,keyasint,omitempty"`
		ForM int64  `cbor:"2,keyasint,omitempty"`
	}
)

// SessionLine is a client that is connected, as operators see it.
type SessionLine struct {
	Name     string    `cbor:"1,keyasint,omitempty" json:"name"`
	ID       string    `cbor:"2,keyasint,omitempty" json:"id"`
	Address  string    `cbor:"3,keyasint,omitempty" json:"address"`
	Agent    string    `cbor:"4,keyasint,omitempty" json:"agent,omitempty"`
	AgeMs    int64     `cbor:"5,keyasint,omitempty" json:"age_ms"`
	RTTUs    int64     `cbor:"6,keyasint,omitempty" json:"rtt_us"`
	InFlight int       `cbor:"7,keyasint,omitempty" json:"in_flight"`
	Streams  int       `cbor:"8,keyasint,omitempty" json:"streams"`
	BytesIn  int64     `cbor:"9,keyasint,omitempty" json:"bytes_in"`
	BytesOut int64     `cbor:"10,keyasint,omitempty" json:"bytes_out"`
	Names    []string  `cbor:"11,keyasint,omitempty" json:"names"`
	NamesAll int       `cbor:"12,keyasint,omitempty" json:"names_all"`
	Conns    int       `cbor:"13,keyasint,omitempty" json:"connections"`
	Direct   int       `cbor:"14,keyasint,omitempty" json:"direct"`
	Groups   []InGroup `cbor:"15,keyasint,omitempty" json:"groups,omitempty"`
}

// InGroup is one of a session's names that it shares.
type InGroup struct {
	At      string `cbor:"1,keyasint,omitempty" json:"at"`
	Group   string `cbor:"2,keyasint,omitempty" json:"group"`
	Members int    `cbor:"3,keyasint,omitempty" json:"members"` // clients that hold it
	Here    int    `cbor:"4,keyasint,omitempty" json:"here"`    // of these, the connected ones
}

// Kicked is the result of a kick.
type Kicked struct {
	Name      string `cbor:"1,keyasint,omitempty" json:"name"`
	Connected bool   `cbor:"2,keyasint,omitempty" json:"connected"`
}

// registerControl serves operators on m. Every caller is an operator: see Authorize.
func (r *Role) registerControl(m *wire.Mux) {
	wire.Handle(m, kindList, r.list)
	wire.Handle(m, kindKick, r.kick)
}

// Authorize is a wire.Config.Authorize: the tunnel's kinds are for clients that are listed,
// those of operators for some of them.
func (r *Role) Authorize(c *wire.Conn, kind string) error {
	switch who := Identify(c); {
	case !strings.HasPrefix(kind, kinds):
		return nil
	case who == "":
		return &wire.Error{Code: wire.PermissionDenied, Msg: "the tunnel is for clients that are listed in tunnel.clients: this connection has shown no listed token, and no listed key, which takes TLS", NotStarted: true}
	case !r.roster.Holds(c): // admitted while the list was read again, or while the client was kicked
		return &wire.Error{Code: wire.PermissionDenied, Msg: "the credentials of this connection are no longer valid", NotStarted: true}
	case (kind == kindList || kind == kindKick) && !r.roster.Admin(who):
		return &wire.Error{Code: wire.PermissionDenied, Msg: "only for clients that are listed with admin: true", NotStarted: true}
	}
	return nil
}

func (r *Role) list(_ context.Context, ask listRequest) (a listAnswer, err error) {
	if ask.Most < 0 || ask.Most > listPage {
		return a, &wire.Error{Code: wire.InvalidArgument, Msg: fmt.Sprintf("most is 1 to %d", listPage), NotStarted: true}
	}
	if ask.Most == 0 {
		ask.Most = listPage
	}
	found := r.tunnel.SessionsAfter(ask.After, ask.Most+1)
	if a.More = len(found) > ask.Most; a.More {
		found = found[:ask.Most]
	}
	for i := range found {
		a.Sessions = append(a.Sessions, r.roster.line(&found[i]))
	}
	return a, nil
}

// line is a session as operators see it.
func (r *Roster) line(x *server.Session) SessionLine {
	l := SessionLine{
		Name: x.Identity, Address: x.Peer, Agent: x.Agent, AgeMs: time.Since(x.Since).Milliseconds(), RTTUs: x.RTT.Microseconds(),
		InFlight: x.Requests, Streams: x.Streams, BytesIn: x.Link.Received, BytesOut: x.Link.Sent,
		Names: x.Bindings, NamesAll: len(x.Bindings), Conns: x.Conns, Direct: x.Direct,
	}
	if who := r.peers.Load().byName[x.Identity]; who != nil {
		l.ID = who.id()
	}
	if len(l.Names) > listNames {
		l.Names = l.Names[:listNames]
	}
	for _, g := range x.Groups {
		if slices.Contains(l.Names, g.At) {
			l.Groups = append(l.Groups, InGroup(g))
		}
	}
	return l
}

// id identifies a client, whichever credential it uses.
func (p *Peer) id() string {
	if p.TokenID != "" {
		return "token:" + p.TokenID
	}
	return p.ID.String()
}

func (r *Role) kick(_ context.Context, ask kickRequest) (k Kicked, err error) {
	span := time.Duration(min(max(ask.ForM, -1), maxBlock.Milliseconds()+1)) * time.Millisecond
	if span < 0 || span > maxBlock {
		return k, &wire.Error{Code: wire.InvalidArgument, Msg: "a client is kept out for 0 s to " + maxBlock.String(), NotStarted: true}
	}
	if k.Name, err = r.roster.find(ask.Who); err != nil {
		return k, err
	}
	r.roster.Block(k.Name, span) // before the connection ends, or it would be back
	k.Connected = r.tunnel.Kick(k.Name)
	r.log.Warn("client sent away by an operator", "client", k.Name, "connected", k.Connected, "for", span)
	return k, nil
}

// find returns the name of the client with this name or id, or with an id that begins so.
func (r *Roster) find(who string) (name string, err error) {
	p := r.peers.Load()
	if _, ok := p.byName[who]; ok {
		return who, nil
	}
	for other, peer := range p.byName {
		switch id := peer.id(); {
		case id == who:
			return other, nil
		case len(who) < leastPrefix || !strings.HasPrefix(id, who):
		case name != "":
			return "", &wire.Error{Code: wire.InvalidArgument, Msg: fmt.Sprintf("%.80q is the beginning of several ids", who), NotStarted: true}
		default:
			name = other
		}
	}
	if name == "" {
		return "", &wire.Error{Code: wire.NotFound, Msg: fmt.Sprintf("no client is %.80q: want a name, an id, or its first %d characters or more", who, leastPrefix), NotStarted: true}
	}
	return name, nil
}

// Distrusted reports whether an error is that the server is not the one that was meant.
func Distrusted(err error) bool { return errors.As(err, new(untrusted)) }

// Operator speaks to a server's operator kinds.
type Operator struct{ conn *wire.Conn }

// DialControl connects to the control socket of a server on this machine. The
// operator must be closed.
func DialControl(ctx context.Context, path string) (*Operator, error) {
	return dialOperator(ctx, "unix", path, &wire.Config{Mux: wire.NewMux()})
}

// DialOperator connects to a server with these settings, by a key or token that is listed with
// admin: true. key and firstSeen are as in ClientOptions.
func DialOperator(ctx context.Context, c *Connect, key, firstSeen string) (*Operator, error) {
	config, _, err := c.link(key, firstSeen, slog.Default())
	if err != nil {
		return nil, err
	}
	config.Mux = wire.NewMux()
	return dialOperator(ctx, "tcp", c.Server, config)
}

func dialOperator(ctx context.Context, network, address string, config *wire.Config) (*Operator, error) {
	conn, err := wire.Dial(ctx, network, address, config)
	if err != nil {
		return nil, err
	}
	if err := conn.Ready(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &Operator{conn}, nil
}

// Close ends the connection.
func (o *Operator) Close() error { return o.conn.Close() }

// Sessions are the clients that are connected, by name.
func (o *Operator) Sessions(ctx context.Context) (all []SessionLine, err error) {
	for r := (listRequest{}); ; {
		a, err := wire.Call[listRequest, listAnswer](ctx, o.conn, kindList, r)
		if err != nil {
			return nil, err
		}
		all = append(all, a.Sessions...)
		if !a.More || len(a.Sessions) == 0 {
			return all, nil
		}
		r.After = all[len(all)-1].Name
	}
}

// Kick ends the connection of a client and keeps it out for a while.
func (o *Operator) Kick(ctx context.Context, who string, span time.Duration) (Kicked, error) {
	return wire.Call[kickRequest, Kicked](ctx, o.conn, kindKick, kickRequest{who, span.Milliseconds()})
}
