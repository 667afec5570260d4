package tunnel

// Namer is a Policy that chooses hosts for HTTP tunnels whose clients have asked for none.
type Namer interface {
	Policy
	// Name is a host that the identity may have for the tunnel that it calls id. try counts
	// from 0: if somebody else holds a name, the next one is asked for. The same arguments
	// give the same name. It does not wait; the error is for the client.
	Name(identity string, id uint16, try int) (host string, err error)
}

// Policy says what a client may have, and of which groups it may be: who says a group's
// name shares the visitors of its members, if both may have the name. It is asked at the binding and again for each
// visitor, so that a change counts at once; it does not wait. The error is for the client
// and the log; ErrDenied is a good one.
type Policy interface {
	Allow(identity string, b Binding) error
}

// PolicyFunc is a function as a Policy.
type PolicyFunc func(identity string, b Binding) error

// Allow calls f.
func (f PolicyFunc) Allow(identity string, b Binding) error { return f(identity, b) }
