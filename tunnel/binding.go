package tunnel

import "errors"

// Protocol is the kind of traffic that a tunnel carries.
type Protocol string

// The protocols.
const (
	HTTP Protocol = "http" // requests for a host
	TCP  Protocol = "tcp"  // connections to an address
	SNI  Protocol = "sni"  // TLS connections for a host, as they are
)

// Binding is a name or an address that a client asks the server for.
type Binding struct {
	Protocol Protocol
	Host     string // HTTP, SNI: normalised; "*." stands for one label
	Path     string // HTTP: "" or a prefix that begins with "/" and does not end so
	Address  string // TCP: host:port, port 0 for any
	Group    string // whose members have it together; "" is one client alone
}

// String is where visitors find it.
func (b Binding) String() string {
	if b.Protocol == TCP {
		return b.Address
	}
	return b.Host + b.Path
}

// Namer is a Policy that chooses hosts for HTTP tunnels whose clients have asked for none.
type Namer interface {
	Policy
	// Name returns a host that the identity may have for the tunnel with this id. try counts from
	// 0: if the name is taken, the next one is asked for. The same arguments give the same name. It
	// must not block; the error is sent to the client.
	Name(identity string, id uint16, try int) (host string, err error)
}

// Policy decides which bindings a client may have, and which groups it may join: a client that
// names a group shares the visitors of its members, if both may have the name. It is asked at the
// binding and again for each visitor, so that a change takes effect at once; it must not block. The
// error is for the client and the log; ErrDenied is a good one.
type Policy interface {
	Allow(identity string, b Binding) error
}

// PolicyFunc is a function as a Policy.
type PolicyFunc func(identity string, b Binding) error

// Allow calls f.
func (f PolicyFunc) Allow(identity string, b Binding) error { return f(identity, b) }

// Errors that callers test for.
var (
	ErrDenied     = errors.New("tunnel: policy does not allow it")
	ErrNameHeld   = errors.New("tunnel: name held by another client")
	ErrOverloaded = errors.New("tunnel: too much is under way")
	ErrAway       = errors.New("tunnel: the client is away")
	ErrClosed     = errors.New("tunnel: closed")
)

// End is the way in which a relayed connection ended; it is also the word for a log.
type End string

// The ends.
const (
	Closed       End = "closed"  // both directions ended well
	CutByVisitor End = "visitor" // the visitor has reset it, or took nothing for too long
	CutByTarget  End = "target"  // the target, or its client, has reset it
	CutSilent    End = "silent"  // one direction had ended, and the other one was silent for Limits.Linger
	CutLost      End = "lost"    // the connection of the client has ended
	CutStopped   End = "stopped" // the server has
	CutSomewhere End = "cut"     // a direct one, by the visitor or the target
)
