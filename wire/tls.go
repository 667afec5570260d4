package wire

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/wire/frame"
)

// ALPN is the protocol's name in TLS.
const ALPN = "wire/1"

// secureConfig is base for wire: TLS 1.3 and its ALPN name, before those of others.
func secureConfig(base *tls.Config, others ...string) *tls.Config {
	config := base.Clone()
	config.MinVersion = tls.VersionTLS13
	config.NextProtos = append([]string{ALPN}, others...)
	config.DynamicRecordSizingDisabled = true
	if choose := config.GetConfigForClient; choose != nil {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen != nil {
				chosen = secureConfig(chosen, others...)
			}
			return chosen, err
		}
	}
	return config
}

// secureDialer does the client's handshake over nc, which it closes if that fails.
func secureDialer(ctx context.Context, nc net.Conn, address string, base *tls.Config) (net.Conn, error) {
	config := secureConfig(base)
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	under := &cork{Conn: nc}
	s := &secured{Conn: tls.Client(under, config), cork: under}
	err := s.handshake(ctx, config.NextProtos)
	if isPlain(err) {
		err = errors.New("wire: the server speaks wire without TLS")
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return s, nil
}

// secure does the server's handshake over nc, which it closes if that fails. n is as in
// handshake.Limiter.
func (s *Server) secure(ctx context.Context, nc net.Conn, n *handshake.Pending) (*secured, error) {
	under := &cork{Conn: nc}
	c := &secured{Conn: tls.Server(under, s.config.TLS), cork: under}
	err := s.handshakes.Do(ctx, nc, n, func(shaking net.Conn) error {
		under.shaking = shaking
		defer func() { under.shaking = nil }()
		return c.handshake(ctx, s.config.TLS.NextProtos)
	})
	if isPlain(err) {
		_ = nc.SetDeadline(time.Now().Add(refuseTime))
		sendRefusal(nc, &frame.Frame{Type: frame.GOAWAY, Code: FailedPrecondition, Text: []byte("TLS is wanted here")})
		return nil, errors.New("wire: peer speaks wire without TLS")
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

// isPlain reports whether a handshake has failed because the peer's first bytes were those of wire.
func isPlain(err error) bool {
	header, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok && string(header.RecordHeader[:]) == frame.Preface[:len(header.RecordHeader)]
}

// handshake also holds that the peer means wire, or another one of names.
func (s *secured) handshake(ctx context.Context, names []string) error {
	if err := s.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("wire: TLS: %w", err)
	}
	switch state := s.ConnectionState(); {
	case !slices.Contains(names, state.NegotiatedProtocol):
		return fmt.Errorf("wire: TLS: peer did not agree on ALPN %s", ALPN)
	case state.Version < tls.VersionTLS13:
		return errors.New("wire: TLS: older than 1.3")
	}
	return nil
}

// secured is a TLS connection over a cork: it writes records, and reads the received ones, without
// waiting.
type secured struct {
	*tls.Conn
	cork   *cork
	vector [1][]byte // the writer's
}

// Write encrypts b and gives it to the socket.
func (s *secured) Write(b []byte) (int, error) {
	if !s.cork.attached {
		return s.Conn.Write(b)
	}
	if len(b) == 0 {
		return 0, s.cork.flush()
	}
	s.vector[0] = b
	defer func() { s.vector[0] = nil }()
	return s.writeGather(s.vector[:])
}

// writeGather encrypts the pieces of the vector, in records as long as they may be, and gives them
// to the socket.
func (s *secured) writeGather(vector net.Buffers) (n int, err error) {
	w := &s.cork.records
	for _, b := range vector {
		if s.cork.waiting() >= 2*corkPiece {
			if err := s.cork.flush(); err != nil {
				return n, err
			}
		}
		n += len(b)
		if err := w.add(s, b); err != nil {
			return n, err
		}
	}
	if err := w.end(s); err != nil {
		return n, err
	}
	return n, s.cork.flush()
}

// tryWrite encrypts as much as the socket takes without waiting, and up to corkPiece more: held
// then reports that flush has something left to do.
func (s *secured) tryWrite(b []byte) (n int, err error) {
	w := &s.cork.records
	for n < len(b) && err == nil && !s.cork.held() {
		piece := b[n:min(len(b), n+corkPiece)]
		if err = w.add(s, piece); err == nil {
			err = w.end(s)
		}
		if err == nil {
			err = s.cork.tryFlush()
		}
		n += len(piece)
	}
	return n, err
}

// fillAll is drain again and again, waiting in between.
func (s *secured) fillAll(r *reader, handle func() error) error {
	defer s.cork.giveBack()
	for {
		if err := s.cork.fill(); err != nil {
			return err
		}
		if err := s.drain(r, handle); err != nil {
			return err
		}
	}
}

// drain decrypts all received records into r, and calls handle for their bytes: for as many records
// as a block takes, together.
func (s *secured) drain(r *reader, handle func() error) error {
	for {
		n, err := s.Conn.Read(r.room())
		r.to += n
		switch {
		case err == nil && r.to-r.from <= blockSize-maxRecord && len(r.block.buf)-r.to >= maxRecord:
			continue
		case err == errEmptyCork:
			if r.from == r.to {
				r.giveBack()
				return nil
			}
			return handle()
		}
		if r.from < r.to {
			if e := handle(); e != nil {
				return e
			}
		}
		if err != nil {
			return err
		}
	}
}

// Close tells the peer, if that can be done without waiting, and closes. The
// writer calls it.
func (s *secured) Close() error {
	if s.cork.attached {
		_ = s.CloseWrite() // which ends with a deadline that has passed
		_ = s.cork.SetWriteDeadline(time.Now().Add(closeFlush))
		_ = s.cork.tryFlush()
	}
	return s.Conn.Close()
}

// PeerKey returns the SHA-256 of the public key (SubjectPublicKeyInfo) in the peer's certificate.
// The TLS handshake has proved that the peer owns it. It stays the same when the certificate is
// renewed with the same key. ok is false without TLS, or without a certificate.
func PeerKey(c *Conn) (sum [sha256.Size]byte, ok bool) {
	state, ok := tlsState(c.nc)
	if !ok || len(state.PeerCertificates) == 0 {
		return sum, false
	}
	return sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo), true
}

// tlsState is that of a connection over TLS; it may be in the handshake still.
func tlsState(nc net.Conn) (state tls.ConnectionState, ok bool) {
	c, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if ok {
		state = c.ConnectionState()
	}
	return state, ok
}
