package tunneld

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/process/keyid"
	"paddock/tunnel"
	"paddock/wire"
)

// Roster lists the clients that may connect to a server, each with its permissions. Clients that
// are not listed have no permissions. It may be replaced while it is in use, by any number of
// goroutines.
type Roster struct {
	peers atomic.Pointer[peers]

	mu      sync.Mutex
	blocked map[string]time.Time // guarded by mu; until when, by name
}

// peers indexes the listed clients by each of their credentials. It is immutable.
type peers struct {
	byName  map[string]*Peer
	byKey   map[keyid.ID]*Peer
	byToken map[string]*Peer
}

// member is the identity of a connection: the listed client, and the credential that proved it.
type member struct {
	name  string
	proof [sha256.Size]byte // SHA-256 of the client's key, or of its token
}

// String is the name, for logs.
func (m member) String() string { return m.name }

// NewRoster lists clients.
func NewRoster(clients []Peer) *Roster {
	r := &Roster{blocked: map[string]time.Time{}}
	r.Replace(clients)
	return r
}

// Replace replaces the list of clients. Connected clients stay connected: see Holds.
func (r *Roster) Replace(clients []Peer) {
	p := &peers{map[string]*Peer{}, map[keyid.ID]*Peer{}, map[string]*Peer{}}
	for _, c := range slices.Clone(clients) {
		p.byName[c.Name] = &c
		if c.TokenID != "" {
			p.byToken[c.TokenID] = &c
		} else {
			p.byKey[c.ID] = &c
		}
	}
	r.peers.Store(p)
}

// Verify is the wire.Config.Verify of a server: it admits listed clients. A client that is not
// listed is told its id, so that it can be listed.
func (r *Roster) Verify(c *wire.Conn, h *wire.Hello) error {
	p := r.peers.Load()
	var who *Peer
	switch sum, hasKey := wire.PeerKey(c); {
	case h.Auth != nil:
		if err := wire.VerifyTokens(p.tokenHash)(c, h); err != nil {
			return err
		}
		proved, _ := c.Identity().(wire.Identity)
		who = p.byToken[proved.Name]
	case hasKey:
		if who = p.byKey[sum]; who == nil {
			return stranger("this server does not know the id %s", keyid.ID(sum))
		}
	default:
		return stranger("neither a key nor a token")
	}
	if who == nil || who.expired() {
		return stranger("the listing of this client has expired")
	}
	if left := r.blockedFor(who.Name); left > 0 {
		return &wire.Error{Code: wire.PermissionDenied, Msg: "the operator has sent this client away for a while", RetryAfter: left}
	}
	c.SetIdentity(member{who.Name, who.proof()})
	return nil
}

func stranger(format string, args ...any) *wire.Error {
	return &wire.Error{Code: wire.Unauthenticated, Msg: fmt.Sprintf(format, args...)}
}

func (p *peers) tokenHash(id string) ([]byte, bool) {
	if who := p.byToken[id]; who != nil {
		return who.TokenHash[:], true
	}
	return nil, false
}

func (p *Peer) expired() bool { return !p.Expires.IsZero() && !time.Now().Before(p.Expires) }

func (p *Peer) proof() [sha256.Size]byte {
	if p.TokenID != "" {
		return p.TokenHash
	}
	return p.ID
}

// Identify is the server.Server.Identify of a server whose connections Verify admits.
func Identify(c *wire.Conn) string {
	m, _ := c.Identity().(member)
	return m.name
}

// Holds reports whether the present list would admit a connection that was admitted before.
func (r *Roster) Holds(c *wire.Conn) bool {
	m, ok := c.Identity().(member)
	who := r.peers.Load().byName[m.name]
	return ok && who != nil && who.proof() == m.proof && !who.expired() && r.blockedFor(m.name) == 0
}

// Allow is tunnel.Policy: it is asked when a client binds, and for each visitor.
func (r *Roster) Allow(identity string, b tunnel.Binding) error {
	who := r.peers.Load().byName[identity]
	switch {
	case who == nil:
		return fmt.Errorf("%w: the client is not listed", tunnel.ErrDenied)
	case who.expired():
		return fmt.Errorf("%w: the listing of the client has expired", tunnel.ErrDenied)
	case len(who.Protocols) > 0 && !slices.Contains(who.Protocols, b.Protocol):
		return fmt.Errorf("%w: %s is not among the protos that are listed for %s", tunnel.ErrDenied, b.Protocol, identity)
	case b.Protocol == tunnel.TCP && !slices.ContainsFunc(who.Ports, func(p PortRange) bool { return p.Covers(b.Address) }):
		return fmt.Errorf("%w: %s is not among the ports that are listed for %s", tunnel.ErrDenied, b.Address, identity)
	case b.Protocol != tunnel.TCP && !slices.ContainsFunc(who.Hosts, func(h string) bool { return Covers(h, b.Host) }):
		return fmt.Errorf("%w: %s is not among the hosts that are listed for %s", tunnel.ErrDenied, b.Host, identity)
	case b.Group != "" && !slices.Contains(who.Groups, b.Group):
		return fmt.Errorf("%w: %s is not among the groups that are listed for %s", tunnel.ErrDenied, b.Group, identity)
	}
	return nil
}

// Name is a tunnel.Namer: a label below the first pattern of the client that has a free one. It is
// derived from the client's key or token, so that the same client gets the same name again, and
// other clients cannot guess it from the names in the list.
func (r *Roster) Name(identity string, id uint16, try int) (string, error) {
	who := r.peers.Load().byName[identity]
	if who == nil {
		return "", fmt.Errorf("%w: the client is not listed", tunnel.ErrDenied)
	}
	at := slices.IndexFunc(who.Hosts, func(h string) bool { return strings.HasPrefix(h, "*.") })
	if at < 0 {
		return "", fmt.Errorf("%w: no pattern *.NAME is listed for %s, to choose a name by: ask for a host", tunnel.ErrDenied, identity)
	}
	proof := who.proof()
	sum := sha256.Sum256(fmt.Appendf([]byte("tunnel name\n"), "%x %d %d", proof, id, try))
	return keyid.ID(sum).String()[:nameLength] + strings.TrimPrefix(who.Hosts[at], "*"), nil
}

// nameLength is that of a label that the server chooses, five bits a character.
const nameLength = 8

// MaxInflight is the tunnel.Server.MaxInflight of a listed client, 0 if its entry does not set it.
func (r *Roster) MaxInflight(identity string) int {
	if who := r.peers.Load().byName[identity]; who != nil {
		return who.MaxInflight
	}
	return 0
}

// Admin reports whether a client may list and kick others.
func (r *Roster) Admin(name string) bool {
	who := r.peers.Load().byName[name]
	return who != nil && who.Admin && !who.expired()
}

// Block keeps a client out for a while from now on, however long it was kept out before;
// 0 lets it in.
func (r *Roster) Block(name string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d <= 0 {
		delete(r.blocked, name)
		return
	}
	r.blocked[name] = time.Now().Add(d)
}

// blockedFor is how long a client is still kept out.
func (r *Roster) blockedFor(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.blocked[name]
	left := time.Until(until)
	if ok && left <= 0 {
		delete(r.blocked, name)
	}
	return max(left, 0)
}
