// Package freeport finds ports for servers that have to be told theirs.
package freeport

import "net"

// Find returns a port of this machine on which nobody listens now. Somebody else may
// before the caller does.
func Find() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
