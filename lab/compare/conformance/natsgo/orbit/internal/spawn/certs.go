package spawn

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates are an authority's, a server's and a client's, each with its key:
// as files for the server, in PEM for the test.
type Certificates struct {
	CAFile, CertFile, KeyFile string
	CA, ClientCert, ClientKey []byte // the client's only if the server asks for it
}

// authority signs.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// newCertificates makes them, and writes the server's files to dir.
func newCertificates(dir string, t TLS) (*Certificates, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	names := t.Names
	if len(names) == 0 {
		names = []string{"localhost", "127.0.0.1", "::1"}
	}
	cert, key, err := ca.sign("server", names, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	c := &Certificates{
		CAFile:   filepath.Join(dir, "ca.pem"),
		CertFile: filepath.Join(dir, "server-cert.pem"),
		KeyFile:  filepath.Join(dir, "server-key.pem"),
		CA:       ca.pem,
	}
	if t.Mutual {
		c.ClientCert, c.ClientKey, err = ca.sign("client", names, x509.ExtKeyUsageClientAuth)
	}
	return c, errors.Join(err,
		os.WriteFile(c.CAFile, ca.pem, 0o600),
		os.WriteFile(c.CertFile, cert, 0o600),
		os.WriteFile(c.KeyFile, key, 0o600))
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t, err := leaf("conformance authority")
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key, block("CERTIFICATE", der)}, err
}

// sign returns a certificate for names and its key, in PEM.
func (a *authority) sign(subject string, names []string, use x509.ExtKeyUsage) (cert, key []byte, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	t, err := leaf(subject)
	if err != nil {
		return nil, nil, err
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{use}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, &k.PublicKey, a.key)
	keyDER, keyErr := x509.MarshalPKCS8PrivateKey(k)
	return block("CERTIFICATE", der), block("PRIVATE KEY", keyDER), cmp.Or(err, keyErr)
}

// leaf is a certificate's template, good for a day.
func leaf(subject string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}, err
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
