package perf

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"paddock/wire"
)

// selfSignedDays is how long a certificate made at the start is valid: a perf
// server does not run for longer.
const selfSignedDays = 30

// ErrPin is returned by the handshake with a server that has another certificate
// than the one that was asked for.
var ErrPin = errors.New("wireperf: the server's certificate is another one")

// SelfSigned makes a self-signed certificate for a server without one: clients know it by its
// fingerprint.
func SelfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "paddock wire serve"},
		NotBefore:    now.Add(-time.Hour), // clocks differ
		NotAfter:     now.AddDate(0, 0, selfSignedDays),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Fingerprint is the SHA-256 of a server's own certificate, in hexadecimal digits.
func Fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// Pinned is the configuration of a client that accepts only the certificate with this fingerprint,
// with any issuer and any name.
func Pinned(fingerprint string) (*tls.Config, error) {
	want, err := hex.DecodeString(fingerprint)
	if err != nil || len(want) != sha256.Size {
		return nil, fmt.Errorf("%w: a fingerprint has %d hexadecimal digits", ErrOptions, 2*sha256.Size)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			got := sha256.Sum256(s.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(got[:], want) != 1 {
				return ErrPin
			}
			return nil
		},
	}, nil
}

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
