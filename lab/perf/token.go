package perf

import (
	"net"

	"paddock/wire"
)

// TokenID names the one token that a perf server knows.
const TokenID = "perf"

// giveToken is wire.Config.Auth of a client, nil without a token.
func giveToken(token string) func(net.Conn) (*wire.Auth, error) {
	if token == "" {
		return nil
	}
	return wire.TokenAuth(TokenID, []byte(token))
}

// wantToken is wire.Config.Verify of a server, nil without a token.
func wantToken(token string) func(*wire.Conn, *wire.Hello) error {
	if token == "" {
		return nil
	}
	hash := wire.TokenHash([]byte(token))
	return wire.VerifyTokens(func(id string) ([]byte, bool) { return hash[:], id == TokenID })
}
