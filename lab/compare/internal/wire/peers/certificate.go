package peers

import (
	"crypto/tls"

	"paddock/lab/perf"
)

// NewCertificate makes a certificate that lives as long as the process, and returns its DER beside
// the configuration of a server that shows it.
func NewCertificate() (*tls.Config, []byte, error) {
	cert, err := perf.SelfSigned()
	if err != nil {
		return nil, nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, cert.Certificate[0], nil
}

// ClientTLS returns the configuration that trusts the certificate der alone.
func ClientTLS(der []byte) (*tls.Config, error) {
	return perf.Pinned(perf.Fingerprint(tls.Certificate{Certificate: [][]byte{der}}))
}
