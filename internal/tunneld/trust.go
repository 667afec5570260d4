package tunneld

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"

	"paddock/internal/agent/spool"
	"paddock/internal/process/keyid"
)

// untrusted is the error about a server that could not be verified as the expected one.
type untrusted struct{ error }

func (e untrusted) Unwrap() error { return e.error }

// trust decides how a client recognizes its server: by the pinned id, by the signer of its
// certificate, or, for files of go-http-tunnel that set neither, by the key that the server showed
// first. firstSeen is the file that stores that key, "" if it must not be stored.
func (c *Connect) trust(key *keyid.Key, firstSeen string, log *slog.Logger) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13, ClientSessionCache: new(ticket)}
	if key != nil {
		config.Certificates = []tls.Certificate{key.Certificate}
	}
	host, _, err := net.SplitHostPort(c.Server)
	if err != nil {
		return nil, err
	}
	config.ServerName = host
	var verify func(tls.ConnectionState, keyid.ID) error
	switch {
	case c.Pinned:
		verify = func(_ tls.ConnectionState, id keyid.ID) error {
			if id != c.ServerID {
				return fmt.Errorf("%w; if the first is the id that the server's operator tells (\"paddock tunnel id --server\" there), give it as server_id (--server-id), else something else answers here",
					&keyid.ErrOtherKey{Got: id, Want: c.ServerID})
			}
			return nil
		}
	case c.RootCA == "" && firstSeen != "":
		verify = (&pinFile{firstSeen, log}).verify
	default:
		if verify, err = bySignature(host, c.RootCA); err != nil {
			return nil, err
		}
	}
	keyid.Verify(config, verify)
	trusted := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := trusted(state); err != nil {
			return untrusted{err}
		}
		return nil
	}
	return config, nil
}

// bySignature trusts servers with a certificate for the host that is signed by one of the roots in
// a file, or by the system's roots without a file.
func bySignature(host, rootFile string) (func(tls.ConnectionState, keyid.ID) error, error) {
	var roots *x509.CertPool
	if rootFile != "" {
		text, err := os.ReadFile(rootFile)
		if err != nil {
			return nil, err
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in PEM", rootFile)
		}
	}
	return func(state tls.ConnectionState, id keyid.ID) error {
		others := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			others.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, DNSName: host})
		if err != nil {
			return fmt.Errorf("%w; the server's id is %s: if it is the one that its owner has told you, give it as server_id (--server-id)", err, id)
		}
		return nil
	}, nil
}

// pinFile remembers the key that a server had when it was seen first.
type pinFile struct {
	path string
	log  *slog.Logger
}

func (p *pinFile) verify(_ tls.ConnectionState, id keyid.ID) error {
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // an empty file, left by a crash, counts as none
		if err := spool.ReplaceFile(p.path, []byte(id.String()+"\n")); err != nil {
			return err
		}
		p.log.Warn("the server's key is believed because it is the first one seen; from now on no other is", "id", id, "file", p.path)
		return nil
	}
	if err != nil {
		return err
	}
	want, err := keyid.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	if id != want {
		return fmt.Errorf("%w, which was seen first; if the server has a new key, remove %s", &keyid.ErrOtherKey{Got: id, Want: want}, p.path)
	}
	return nil
}

// maxCut is how many handshakes in a row may be cut off before a ticket is given up: one
// that has become bad is not to keep its client out for ever.
const maxCut = 8

// ticket is the tls.ClientSessionCache of a client, which has a single server. crypto/tls drops a
// ticket with each failed handshake. When a server restarts and all of its clients return, some
// handshakes time out; without tickets the next attempts would cost both sides one more signature,
// and more of them would time out. Therefore the ticket is kept until a newer one arrives.
type ticket struct {
	mu   sync.Mutex
	last *tls.ClientSessionState // guarded by mu
	cut  int                     // guarded by mu; handshakes since it came
}

// Get returns the ticket.
func (t *ticket) Get(string) (last *tls.ClientSessionState, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, t.last != nil
}

// Put keeps a newer ticket. A nil one means that a handshake has failed, and is ignored.
func (t *ticket) Put(_ string, newer *tls.ClientSessionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut++; newer != nil || t.cut >= maxCut {
		t.last, t.cut = newer, 0
	}
}
