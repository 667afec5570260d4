//go:build !linux

package responder

import (
	"errors"
	"fmt"
	"net/netip"
)

func serve(Config, netip.AddrPort) (*Service, error) {
	return nil, fmt.Errorf("responder: it takes epoll: %w", errors.ErrUnsupported)
}

type conn struct{}
