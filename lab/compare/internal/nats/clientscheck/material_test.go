package clientscheck

import (
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

	"github.com/nats-io/nkeys"
)

// material holds the files in the working directory of programs and servers. Keys are generated for
// each run, so that none is kept anywhere.
type material struct {
	dir   string
	alice string // public nkey of alice.nk
}

func newMaterial(dir string) (*material, error) {
	m := &material{dir: dir}
	ca, caErr := m.authority("ca", "Paddock's test authority")
	_, otherErr := m.authority("other-ca", "Another authority")
	if err := errors.Join(caErr, otherErr); err != nil {
		return nil, err
	}
	err := errors.Join(
		m.issue(ca, "server", &x509.Certificate{
			Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}),
		m.issue(ca, "client", &x509.Certificate{
			Subject:        pkix.Name{CommonName: "fleet"},
			EmailAddresses: []string{"fleet@example.test"},
			ExtKeyUsage:    []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}),
		m.issue(ca, "unknown", &x509.Certificate{
			Subject:        pkix.Name{CommonName: "unknown"},
			EmailAddresses: []string{"unknown@example.test"},
			ExtKeyUsage:    []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}),
	)
	if err != nil {
		return nil, err
	}
	m.alice, err = m.nkey("alice.nk")
	_, strangerErr := m.nkey("stranger.nk")
	return m, errors.Join(err, strangerErr)
}

// issuer signs certificates.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func (m *material) authority(name, common string) (*issuer, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: common}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &issuer{template, key}, m.write(name, template, &issuer{template, key}, key)
}

func (m *material) issue(by *issuer, name string, template *x509.Certificate) error {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return m.write(name, template, by, key)
}

// write signs the template, which then has its identifiers, and writes NAME.pem
// and NAME-key.pem.
func (m *material) write(name string, template *x509.Certificate, by *issuer, key *ecdsa.PrivateKey) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	if err != nil {
		return err
	}
	if template.IsCA {
		// Certificates that it signs refer to it as it was parsed.
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		*template = *parsed
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		m.file(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		m.file(name+"-key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	)
}

// nkey writes the seed of a new user's key, and returns the public key.
func (m *material) nkey(name string) (string, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	seed, err := pair.Seed()
	if err != nil {
		return "", err
	}
	public, err := pair.PublicKey()
	return public, errors.Join(err, m.file(name, seed))
}

func (m *material) file(name string, data []byte) error {
	return os.WriteFile(filepath.Join(m.dir, name), data, 0o600)
}
