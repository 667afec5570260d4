package ab

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

// config speaks TLS as ab does: with any certificate. What was agreed on the first connection
// goes to the report.
func (r *Recorder) config() *tls.Config {
	first := true
	return &tls.Config{
		ServerName:         r.o.target().Hostname(),
		InsecureSkipVerify: true, //nolint:gosec // as ab
		// The first connection is the probe, before all others.
		VerifyConnection: func(s tls.ConnectionState) error {
			if first {
				first, r.tls = false, agreed(s)
			}
			return nil
		},
	}
}

// agreed is the version, the suite, and the bits of the certificate's key and of the cipher.
// Suites before TLS 1.3 have the names of IANA, where ab has those of OpenSSL.
func agreed(s tls.ConnectionState) string {
	suite, bits := tls.CipherSuiteName(s.CipherSuite), 128
	if strings.Contains(suite, "AES_256") || strings.Contains(suite, "CHACHA20") {
		bits = 256
	}
	return fmt.Sprintf("%s,%s,%d,%d", strings.Replace(tls.VersionName(s.Version), "TLS ", "TLSv", 1), suite, keyBits(s.PeerCertificates), bits)
}

// keyBits is the size of the certificate's key.
func keyBits(chain []*x509.Certificate) int {
	if len(chain) == 0 {
		return 0
	}
	switch key := chain[0].PublicKey.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen()
	case *ecdsa.PublicKey:
		return key.Params().BitSize
	case ed25519.PublicKey:
		return 253 // as OpenSSL counts
	}
	return 0
}
