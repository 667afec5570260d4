package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// ALPN is the protocol's name in TLS.
const ALPN = "wire/1"

// secureConfig is base for wire: TLS 1.3 and its ALPN name.
func secureConfig(base *tls.Config) *tls.Config {
	config := base.Clone()
	config.MinVersion = tls.VersionTLS13
	config.NextProtos = []string{ALPN}
	config.DynamicRecordSizingDisabled = true
	return config
}

// secureDialer does the client's handshake over nc.
func secureDialer(ctx context.Context, nc net.Conn, address string, base *tls.Config) (net.Conn, error) {
	config := secureConfig(base)
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(nc, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("wire: %w", err)
	}
	return secured, nil
}
