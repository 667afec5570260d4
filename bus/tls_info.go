package bus

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
)

// TLSInfo is what a connection's handshake has come to.
type TLSInfo struct {
	Version uint16 // as in crypto/tls
	Cipher  uint16 // likewise
	First   bool   // it came before INFO
	Peers   []PeerCert
}

// PeerCert is a certificate that a client has shown, the client's own first.
type PeerCert struct {
	Subject string
	// SHA256 is that of the certificate, KeySHA256 that of its public key, which
	// TLS.PinnedCerts lists: in hex.
	SHA256, KeySHA256 string
}

func describe(state *tls.ConnectionState, first bool) *TLSInfo {
	i := &TLSInfo{Version: state.Version, Cipher: state.CipherSuite, First: first}
	for _, cert := range state.PeerCertificates {
		i.Peers = append(i.Peers, PeerCert{
			Subject: cert.Subject.String(), SHA256: hexSum(cert.Raw), KeySHA256: keySum(cert),
		})
	}
	return i
}

func keySum(cert *x509.Certificate) string { return hexSum(cert.RawSubjectPublicKeyInfo) }

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
