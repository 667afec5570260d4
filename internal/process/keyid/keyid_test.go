package keyid_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"paddock/internal/process/keyid"
)

func TestMake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "paddock.key")
	made, was, err := keyid.LoadOrMake(path)
	if err != nil || !was {
		t.Fatal(was, err)
	}
	again, was, err := keyid.LoadOrMake(path)
	if err != nil || was || again.ID != made.ID {
		t.Errorf("%v, made %v, %v; want %v", again, was, err, made.ID)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files beside the key", len(entries)-1)
	}
	if _, err := keyid.Make(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("over another key: %v", err)
	}
}

// TestOneKey checks that processes that start at once agree on one key.
func TestOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	ids := make([]keyid.ID, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			key, _, err := keyid.LoadOrMake(path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = key.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("%v and %v", id, ids[0])
		}
	}
}

func TestParse(t *testing.T) {
	key, err := keyid.Make(filepath.Join(t.TempDir(), "k"))
	if err != nil {
		t.Fatal(err)
	}
	s := key.ID.String()
	if len(s) != keyid.Length {
		t.Errorf("%d characters", len(s))
	}
	for _, form := range []string{s, strings.ToUpper(s), s[:13] + "-" + s[13:26] + "-" + s[26:], " " + s + "\n"} {
		if id, err := keyid.Parse(form); err != nil || id != key.ID {
			t.Errorf("%q: %v, %v", form, id, err)
		}
	}
	last := strings.Repeat("a", keyid.Length-1)
	for form, says := range map[string]string{
		"":          "0 characters",
		s + "a":     "53 characters",
		"1" + s[1:]: `character 1 is '1'`,
		last + "b":  "last character",
	} {
		if id, err := keyid.Parse(form); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v; want %q", form, id, err, says)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	large, _ := rsa.GenerateKey(rand.Reader, 2048)
	sec1, err1 := x509.MarshalECPrivateKey(p256)
	pkcs8, err2 := x509.MarshalPKCS8PrivateKey(p256)
	weak, err3 := x509.MarshalECPrivateKey(p224)
	one := write("sec1", "EC PRIVATE KEY", sec1, err1)
	two := write("pkcs8", "PRIVATE KEY", pkcs8, err2)
	a, err := keyid.Load(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := keyid.Load(two)
	if err != nil || a.ID != b.ID {
		t.Errorf("one key in two forms: %v, %v, %v", a.ID, b, err)
	}
	if _, err := keyid.Load(write("rsa", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(large), nil)); err != nil {
		t.Error(err)
	}
	for path, says := range map[string]string{
		write("weak", "EC PRIVATE KEY", weak, err3):              "P-224",
		write("locked", "ENCRYPTED PRIVATE KEY", []byte{1}, nil): "encrypted",
		write("cert", "CERTIFICATE", []byte{1}, nil):             "no private key",
		write("torn", "PRIVATE KEY", pkcs8[:20], nil):            "torn",
	} {
		if _, err := keyid.Load(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
	pair := write("crt", "CERTIFICATE", a.Certificate.Certificate[0], nil)
	if c, err := keyid.LoadPair(pair, two); err != nil || c.ID != a.ID {
		t.Errorf("%v, %v", c, err)
	}
}

// TestVerify checks that the server's id is verified, at a first handshake and at a resumed one.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	key, err := keyid.Make(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := keyid.Make(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{key.Certificate}, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte{1})
			_ = c.Close()
		}
	})
	defer served.Wait()
	defer l.Close()
	tickets := tls.NewLRUClientSessionCache(1)
	dial := func(want keyid.ID) (resumed bool, err error) {
		near, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return false, err
		}
		defer near.Close()
		config := &tls.Config{ServerName: "x", ClientSessionCache: tickets}
		keyid.Verify(config, func(_ tls.ConnectionState, got keyid.ID) error {
			if got != want {
				return &keyid.ErrOtherKey{Got: got, Want: want}
			}
			return nil
		})
		c := tls.Client(near, config)
		if err := c.Handshake(); err != nil {
			return false, err
		}
		_, err = c.Read(make([]byte, 1)) // receives the session ticket too
		return c.ConnectionState().DidResume, err
	}
	if resumed, err := dial(key.ID); resumed || err != nil {
		t.Fatal(resumed, err)
	}
	if resumed, err := dial(key.ID); !resumed || err != nil {
		t.Errorf("the second time: resumed %v, %v", resumed, err)
	}
	var wrong *keyid.ErrOtherKey
	if _, err := dial(other.ID); !errors.As(err, &wrong) || wrong.Got != key.ID {
		t.Errorf("another key: %v", err)
	}
}
