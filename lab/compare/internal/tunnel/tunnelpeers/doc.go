// Package tunnelpeers holds the tunnel against the programs of others whose protocols
// pass through it: gRPC's client and server, and h2spec.
package tunnelpeers
