// Package ntf is started by the TestMain of nats.go's integration tests when no tester is running
// elsewhere. The tests need only a port where a server answers, so that is all it has: one server
// of the kind under test.
package ntf

import (
	"context"

	"github.com/synadia-io/orbit.go/internal/spawn"
)

// Options are the ones that TestMain sets. Servers always are at localhost, so
// none has an effect.
type Options struct{ AdvertiseHost string }

// Service is the one server.
type Service struct {
	dir    *spawn.Dir
	server *spawn.Server
}

// New starts the server named by [spawn.Variable].
func New(context.Context, Options) (*Service, error) {
	dir, err := spawn.NewDir()
	if err != nil {
		return nil, err
	}
	servers, err := spawn.Start(dir, 1, spawn.Config{})
	if err != nil {
		dir.Remove()
		return nil, err
	}
	return &Service{dir, servers[0]}, nil
}

// Port returns where the server listens, at localhost.
func (s *Service) Port() int { return s.server.Port }

// Close stops the server.
func (s *Service) Close() error {
	defer s.dir.Remove()
	return s.server.Stop()
}
