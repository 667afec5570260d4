// Package tunnel lets visitors of a public server reach services on machines that
// cannot be reached. A Client holds one wire connection to a Server and binds
// tunnels on it: a host name for HTTP, or an address for TCP. The server carries each
// visitor down that connection, the client hands him to the target of the tunnel. The
// protocol is docs/design/tunnel/SPEC.md; docs/guides/tunnel-go.md shows how to use it.
//
// # One exchange
//
// The front, Server.exchange, finds the route, checks what the tunnel asks of
// visitors, takes a permit, and writes the request's head anew. A request whose body
// is short and known travels as one wire request and comes back as one answer, all
// else as a stream. At the client a connection to the target is taken out of a pool,
// used, and put back only if it is certain where the answer has ended.
//
//	visitor ── front ── route ── permit ── exchange ══ wire ══ exchange ── pool ── target
//
// # What bounds it
//
// Each bound has a name in Limits or ClientConfig, and what is over it is refused with a
// reason, a Refusal: never queued without end. A visitor who leaves cancels his
// exchange across the tunnel within one round trip; his permit is free when the
// client has answered, not before, so that leaving makes no work for others.
//
// # Trust
//
// The client never dials what the server names: a tunnel's number stands for a target
// of the client's own. Both sides check every head that the other has sent in one pass
// (see internal/netio/h1), so that no head can be read as two.
package tunnel
