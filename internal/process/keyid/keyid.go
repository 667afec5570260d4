// Package keyid makes and reads the keys by which machines authenticate each other, and the ids of
// these keys, which people copy between machines. It needs no certificate authority, and no
// certificate expires.
package keyid

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ID names a key: the SHA-256 of its SubjectPublicKeyInfo in DER, RFC 5280. It does not depend on
// certificates, which may be renewed or expire.
type ID [sha256.Size]byte

// encoding is RFC 4648 section 6 in lower case: 52 characters that can be read out on the
// telephone.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Length is the length of ID.String.
const Length = 52

// minRSA is the smallest accepted RSA key, in bits.
const minRSA = 2048

func (id ID) String() string { return encoding.EncodeToString(id[:]) }

// MarshalText makes an ID a string in JSON and YAML.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Parse reads an id as a person may have typed it: dashes, surrounding white space and the case of
// letters are ignored.
func Parse(s string) (id ID, err error) {
	s = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "-", ""))
	if len(s) != Length {
		return id, fmt.Errorf("id of %d characters, want %d", len(s), Length)
	}
	if i := strings.IndexFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '2' || c > '7') }); i >= 0 {
		return id, fmt.Errorf("id: character %d is %q; want a to z, 2 to 7", i+1, s[i])
	}
	if _, err = encoding.Decode(id[:], []byte(s)); err != nil {
		return id, fmt.Errorf("id: %w", err)
	}
	if id.String() != s { // the last character has a bit to spare
		return id, errors.New("id: its last character cannot be right")
	}
	return id, nil
}

// Of returns the id of a public key.
func Of(public crypto.PublicKey) (id ID, err error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return id, err
	}
	return sha256.Sum256(der), nil
}

// Key is a private key and its certificate for TLS.
type Key struct {
	ID          ID
	Certificate tls.Certificate
}

// Load reads a private key: PKCS#8, PKCS#1 or SEC 1 in PEM. Its certificate is generated on each
// load and never expires.
func Load(path string) (*Key, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	signer, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return selfSigned(signer)
}

// Make generates an Ed25519 key and writes it to path, readable by its owner alone. The file must
// not exist. Make creates a missing directory.
func Make(path string) (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// The file appears complete or not at all, and never replaces another: a link fails if path
	// exists.
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return nil, err
	}
	return selfSigned(private)
}

// LoadOrMake loads the key at path, or makes it if there is none. made reports that it was made.
func LoadOrMake(path string) (key *Key, made bool, err error) {
	if key, err = Load(path); !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	if key, err = Make(path); !errors.Is(err, fs.ErrExist) {
		return key, err == nil, err
	}
	key, err = Load(path) // another process has made it meanwhile
	return key, false, err
}

// LoadPair reads a certificate and its key from two files. The certificate is sent unchanged; the
// ID is that of the key.
func LoadPair(certificate, key string) (*Key, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: not a key that signs", key)
	}
	if err := strong(signer); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	id, err := Of(signer.Public())
	if err != nil {
		return nil, err
	}
	return &Key{ID: id, Certificate: pair}, nil
}

func parse(b []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("the key is encrypted; want one without a password")
		default: // parameters, certificates
			continue
		}
		if err != nil {
			return nil, err
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("a %T does not sign", key)
		}
		return signer, strong(signer)
	}
	return nil, errors.New("no private key in PEM")
}

// strong returns an error if a key is too weak or of an unsupported kind.
func strong(key crypto.Signer) error {
	switch public := key.Public().(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P256() || public.Curve == elliptic.P384() {
			return nil
		}
		return fmt.Errorf("ECDSA over %s, want P-256 or P-384", public.Curve.Params().Name)
	case *rsa.PublicKey:
		if public.N.BitLen() >= minRSA {
			return nil
		}
		return fmt.Errorf("RSA of %d bits, want at least %d", public.N.BitLen(), minRSA)
	default:
		return fmt.Errorf("a %T; want Ed25519, ECDSA over P-256 or P-384, or RSA", public)
	}
}

// selfSigned generates a certificate because TLS requires one. Verification uses the key alone.
func selfSigned(key crypto.Signer) (*Key, error) {
	id, err := Of(key.Public())
	if err != nil {
		return nil, err
	}
	template := x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(id[:16]),
		Subject:      pkix.Name{CommonName: id.String()},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280 section 4.1.2.5: for ever
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Key{ID: id, Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// ErrOtherKey reports that a peer has another key than the pinned one.
type ErrOtherKey struct{ Got, Want ID }

func (e *ErrOtherKey) Error() string {
	return fmt.Sprintf("the server's id is %s, want %s", e.Got, e.Want)
}

// Verify makes config trust the servers that verify accepts by the ids of their keys, whatever
// their certificates are. It also applies to resumed sessions, for which VerifyPeerCertificate is
// not called.
func Verify(config *tls.Config, verify func(tls.ConnectionState, ID) error) {
	config.InsecureSkipVerify = true // VerifyConnection does it
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the server has no certificate")
		}
		return verify(state, sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo))
	}
}
