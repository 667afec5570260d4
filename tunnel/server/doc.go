// Package server is the public side of a tunnel: it accepts visitors and forwards them to connected
// clients. Package paddock/tunnel explains the whole.
//
// A [Server] serves the clients of a wire.Server, or of any wire connection whose Mux it is
// registered with. Visitors come by Serve and ServeTLS, by ServeHTTP, and by the addresses of TCP
// tunnels.
//
// The way of a visitor through the files: front.go, tls.go and tcp.go accept connections; h1.go
// and nethttp.go read requests; admit.go and admission.go take permits; endpoint.go, choice.go and
// links.go find the client and one of its connections; exchange.go and raw.go forward. session.go
// has the connected clients and their bindings.
package server
