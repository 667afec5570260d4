// Package tunnel is the vocabulary of a reverse tunnel: visitors of a public server reach services
// on machines that accept no connections from outside. Package paddock/tunnel/server is the public
// side, package paddock/tunnel/client the side of the services.
//
// A client holds one wire connection to the server and binds tunnels on it: a host name for HTTP or
// for TLS by server name, or an address for TCP. The server forwards each visitor over that
// connection, and the client connects the visitor to the target of the tunnel. The protocol is
// docs/design/tunnel/SPEC.md; docs/guides/tunnel-go.md shows how to use the packages.
//
// # One exchange
//
// The server's front finds the route of a request, checks the credentials that the tunnel requires,
// takes a permit, and writes the request's head for the next hop. A request with a short body of
// known length travels as one wire request, and its answer as one wire answer. Other requests
// travel as streams. The client takes a connection to the target from a pool, and puts it back only
// if the end of the answer is certain.
//
//	visitor ── front ── route ── permit ── exchange ══ wire ══ exchange ── pool ── target
//
// # Bounds
//
// Each bound has a name in Limits or in the client's Config. Work beyond a bound is refused with a
// reason, and no queue is unbounded. A visitor that disconnects cancels its exchange at both ends
// within one round trip. Its permit is released when the client has answered, and not before.
//
// # Trust
//
// The client never dials an address that the server names: a tunnel's number stands for a target of
// the client's configuration. Both sides check every head that the other side has sent, in one pass
// (internal/netio/h1), so that no head can be read in two ways.
package tunnel
