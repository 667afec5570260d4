// Package client is the side of a tunnel that has the services: it connects to a tunnel server,
// binds names and addresses there, and connects their visitors to local targets. Package
// paddock/tunnel explains the whole.
//
// [Client.Run] holds a connection of its own. A program that already has a wire.Client uses
// Register and Connected instead.
package client
