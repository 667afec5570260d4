package bus

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// maxSealed bounds the bytes of a secure connection between TLS and the socket: one piece of
// transportPiece with its records' overhead, and answers that TLS itself has for its peer. It comes
// on top of [Config.MaxPending].
const maxSealed = transportPiece + transportPiece/8 + 4<<10

// maxHandshake bounds the bytes that a client sends in the handshake: its certificate, and those of
// its issuers.
const maxHandshake = 64 << 10

// errUnreadRecords ends a connection whose peer makes TLS answer and does not read.
var errUnreadRecords = errors.New("bus: too many TLS records for a peer that does not read")

// tlsSocket is the connection that a [tls.Conn] sees. During the handshake it is the socket, and
// waits for it. From then on it only holds bytes: input that TLS is to open, and sealed output for
// the client's writer. So neither reading nor writing through TLS ever waits, and sockets are used
// in one way, with TLS or without.
//
// The alternative, a goroutine that writes to the tls.Conn, would need a buffer and a hand-over for
// each flush; and a write that is given up halfway would leave TLS broken.
type tlsSocket struct {
	net.Conn
	silent bool // nothing has come yet

	// The reader's. Before the handshake: bytes read to detect TLS.
	in       []byte
	detached bool // nothing waits for the socket any more

	mu  sync.Mutex // guards the fields below
	out []byte
}

// Read returns the bytes read before, and during the handshake those of the socket.
func (t *tlsSocket) Read(b []byte) (n int, err error) {
	if len(t.in) > 0 {
		n = copy(b, t.in)
		t.in = t.in[n:]
		return n, nil
	}
	if t.detached {
		return 0, os.ErrDeadlineExceeded // which TLS survives
	}
	n, err = t.Conn.Read(b)
	t.silent = t.silent && n == 0
	return n, err
}

func (t *tlsSocket) Write(b []byte) (int, error) {
	if !t.detached {
		return t.Conn.Write(b)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.out)+len(b) > maxSealed {
		return 0, errUnreadRecords
	}
	t.out = append(t.out, b...)
	return len(b), nil
}

// SetDeadline and the like do nothing: deadlines are set on the socket itself.
func (t *tlsSocket) SetDeadline(time.Time) error      { return nil }
func (t *tlsSocket) SetReadDeadline(time.Time) error  { return nil }
func (t *tlsSocket) SetWriteDeadline(time.Time) error { return nil }

// setOutput sets the buffer to which sealed bytes are appended.
func (t *tlsSocket) setOutput(dst []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = append(dst, t.out...)
}

// takeOutput returns the sealed bytes. An idle connection holds no memory for it.
func (t *tlsSocket) takeOutput() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.out
	t.out = nil
	return b
}

// tlsLayer is TLS between a client's socket and its protocol.
type tlsLayer struct {
	conn  *tls.Conn
	under *tlsSocket
	info  *TLSInfo
}

// pinned reports whether the peer's key is among pins.
func (t *tlsLayer) pinned(pins []string) bool {
	return len(pins) == 0 || len(t.info.Peers) > 0 && slices.Contains(pins, t.info.Peers[0].KeySHA256)
}

// fill decrypts received bytes into b, as far as there is room: a batch is the result of a read of
// the socket, not one record. done = all has been opened.
func (t *tlsLayer) fill(b []byte) (n int, done bool, err error) {
	for n < len(b) {
		m, err := t.conn.Read(b[n:])
		n += m
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n, true, nil
		}
		if err != nil {
			return n, true, err
		}
	}
	return n, false, nil
}

// seal adds the records for b to dst.
func (t *tlsLayer) seal(dst, b []byte) ([]byte, error) {
	t.under.setOutput(dst)
	_, err := t.conn.Write(b)
	return t.under.takeOutput(), err
}

// closeNotify returns the alert that ends the output.
func (t *tlsLayer) closeNotify() []byte {
	t.conn.CloseWrite()
	return t.under.takeOutput()
}

// detach ends the handshake: from now on nothing waits for the socket.
func (t *tlsLayer) detach() { t.under.detached = true }

// rateWindow is for how long handshakes are counted.
const rateWindow = time.Second

// throttle bounds how many handshakes of TLS begin in a second.
type throttle struct {
	mu    sync.Mutex // guards the fields below
	until time.Time  // the end of the window
	begun int        // in the window
}

// allow counts one more in the present second, if there are fewer than rate; 0 = any number.
func (h *throttle) allow(rate int) bool {
	if rate == 0 {
		return true
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !now.Before(h.until) {
		h.until, h.begun = now.Add(rateWindow), 0
	}
	h.begun++
	return h.begun <= rate
}

// TLSInfo is the result of a connection's handshake.
type TLSInfo struct {
	Version uint16 // as in crypto/tls
	Cipher  uint16 // as in crypto/tls
	First   bool   // it came before INFO
	Peers   []PeerCert
}

// PeerCert is a certificate that a client has shown, the client's own first.
type PeerCert struct {
	Subject string
	// SHA256 is the digest of the certificate, KeySHA256 the digest of its public key, which
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
