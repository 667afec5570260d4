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

// config accepts any certificate, as ab does. The parameters of the first connection go to the
// report.
func (r *Recorder) config() *tls.Config {
	first := true
	return &tls.Config{
		ServerName:         r.o.target().Hostname(),
		InsecureSkipVerify: true, //nolint:gosec // as ab
		// The first connection is the probe, before all others.
		VerifyConnection: func(s tls.ConnectionState) error {
			if first {
				first, r.tls = false, agreed(s)
				r.tls.name = s.ServerName
			}
			return nil
		},
	}
}

// security holds the TLS parameters, as ab writes them.
type security struct {
	protocol string // the version, the suite, and the bits of the certificate's key and of the cipher; "" = no TLS
	key      string // that of the connection; "" = ab has no word for its kind, or it is not known yet
	name     string // that the service was asked by; "" = its address
}

func agreed(s tls.ConnectionState) security {
	suite, bits := tls.CipherSuiteName(s.CipherSuite), 128
	if strings.Contains(suite, "AES_256") || strings.Contains(suite, "CHACHA20") {
		bits = 256
	}
	if s.Version < tls.VersionTLS13 {
		suite = opensslNames.Replace(suite)
	}
	version := strings.Replace(tls.VersionName(s.Version), "TLS ", "TLSv", 1)
	return security{
		protocol: fmt.Sprintf("%s,%s,%d,%d", version, suite, keyBits(s.PeerCertificates), bits),
		key:      temporaryKeys[s.CurveID],
	}
}

// opensslNames makes of IANA's names of suites those of OpenSSL. From TLS 1.3 on both have
// the same.
var opensslNames = strings.NewReplacer(
	"TLS_", "", "_WITH_", "-", "AES_", "AES", "_CBC", "", "POLY1305_SHA256", "POLY1305", "_", "-")

var temporaryKeys = map[tls.CurveID]string{
	tls.X25519:    "X25519 253 bits",
	tls.CurveP256: "ECDH prime256v1 256 bits",
	tls.CurveP384: "ECDH secp384r1 384 bits",
	tls.CurveP521: "ECDH secp521r1 521 bits",
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
