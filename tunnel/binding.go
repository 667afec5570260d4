package tunnel

// Protocol is what a tunnel carries.
type Protocol string

// The protocols.
const (
	HTTP Protocol = "http" // requests for a host
	TCP  Protocol = "tcp"  // connections to an address
	SNI  Protocol = "sni"  // TLS connections for a host, as they are
)

// Binding is what a client asks to have at the server.
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
