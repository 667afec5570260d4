package spawn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates are one certificate, which signs itself, of the authority, the server and the
// client, with its key: as files for the server, in PEM for the test.
type Certificates struct {
	CAFile, CertFile, KeyFile string
	CA, ClientCert, ClientKey []byte // the client's only if the server asks for it
}

// newCertificates makes them, good for a day, and writes the server's files to dir.
func newCertificates(dir string, t TLS) (*Certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	names := t.Names
	if len(names) == 0 {
		names = []string{"localhost", "127.0.0.1", "::1"}
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	private, keyErr := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, keyErr); err != nil {
		return nil, err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	own := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	c := &Certificates{CA: cert, CAFile: filepath.Join(dir, "ca.pem"), KeyFile: filepath.Join(dir, "server-key.pem")}
	c.CertFile = c.CAFile
	if t.Mutual {
		c.ClientCert, c.ClientKey = cert, own
	}
	return c, errors.Join(os.WriteFile(c.CertFile, cert, 0o600), os.WriteFile(c.KeyFile, own, 0o600))
}
