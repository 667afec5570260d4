// Package natslogin holds how this program, as a client, logs in at a server of the NATS protocol.
package natslogin

import "github.com/nats-io/nats.go"

// Login is what a client shows. Empty fields are left out.
type Login struct {
	User, Password string
	Token          string
	Creds          string // file of credentials
	RootCA         string // PEM file of the authorities of the server, in place of the system's
}

// Options returns the options of a connection.
func (l Login) Options() (list []nats.Option) {
	if l.User != "" {
		list = append(list, nats.UserInfo(l.User, l.Password))
	}
	if l.Token != "" {
		list = append(list, nats.Token(l.Token))
	}
	if l.Creds != "" {
		list = append(list, nats.UserCredentials(l.Creds))
	}
	if l.RootCA != "" {
		list = append(list, nats.RootCAs(l.RootCA))
	}
	return list
}
