package wire_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// keyUpdater seals records that ask for new keys, as tls.Conn never does: with the
// client's traffic secret (RFC 8446 sections 4.6.3, 5.2 and 7.2).
type keyUpdater struct {
	secret []byte
	seq    uint64
}

func expand(secret []byte, label string, n int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(append(info, byte(len("tls13 ")+len(label))), "tls13 "+label...)
	b, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), n)
	if err != nil {
		panic(err)
	}
	return b
}

// record is a KeyUpdate that requests one in return; after it come new keys.
func (u *keyUpdater) record() []byte {
	block, _ := aes.NewCipher(expand(u.secret, "key", 16))
	seal, _ := cipher.NewGCM(block)
	nonce := expand(u.secret, "iv", 12)
	for i, b := range binary.BigEndian.AppendUint64(nil, u.seq) {
		nonce[4+i] ^= b
	}
	inner := []byte{24, 0, 0, 1, 1, 22}
	header := []byte{23, 3, 3, 0, byte(len(inner) + seal.Overhead())}
	u.secret, u.seq = expand(u.secret, "traffic upd", 32), 0
	return seal.Seal(header, nonce, inner, header)
}

// TestTLSKeyUpdate asks for new keys while the server sends, and while it waits for
// room in the socket: its answers must lie between its records, where its keys
// change.
func TestTLSKeyUpdate(t *testing.T) {
	const size = 12 << 20
	mux := wire.NewMux()
	mux.HandleStream("flow", func(_ context.Context, s *wire.Stream) error {
		b := make([]byte, 100_000)
		for sent := 0; sent < size; sent += len(b) {
			b = b[:min(len(b), size-sent)]
			for i := range b {
				b[i] = byte((sent + i) >> 10)
			}
			if _, err := s.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	address := serve(t, &wire.Server{Config: &wire.Config{Mux: mux, TLS: serverTLS()}})
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	var keys bytes.Buffer
	config := clientTLS()
	config.NextProtos, config.KeyLogWriter = []string{wire.ALPN}, &keys
	secured := tls.Client(nc, config)
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	if suite := secured.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("the keys are those of %s, which this test does not know", tls.CipherSuiteName(suite))
	}
	hello, err := frame.AppendHello(nil, wire.Hello{Kinds: map[string]uint32{"flow": 1}, StreamInitial: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b := frame.AppendFrame([]byte(frame.Preface), &frame.Frame{Type: frame.HELLO, Body: hello})
	b = frame.AppendFrame(b, &frame.Frame{Type: frame.OPEN, ID: uint32(frame.MakeSlot(frame.Dialer, 1, 1)), Kind: 1})
	if _, err := secured.Write(b); err != nil {
		t.Fatal(err)
	}
	updates := &keyUpdater{secret: clientSecret(t, keys.String()), seq: 1}
	receiveFlow(t, secured, size, func() {
		if _, err := nc.Write(updates.record()); err != nil {
			t.Error(err)
		}
	})
}

// clientSecret finds the one of a key log.
func clientSecret(t *testing.T, keys string) []byte {
	for line := range strings.Lines(keys) {
		if fields := strings.Fields(line); fields[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(fields[2])
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
	}
	t.Fatal("no secret")
	return nil
}

// receiveFlow reads the frames of TestTLSKeyUpdate, and calls now and then between
// them.
func receiveFlow(t *testing.T, r io.Reader, size int, now func()) {
	if _, err := io.ReadFull(r, make([]byte, len(frame.Preface))); err != nil {
		t.Fatal(err)
	}
	got, next := 0, 0
	for header := make([]byte, frame.HeaderSize); ; {
		if _, err := io.ReadFull(r, header); err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
		h := frame.ParseHeader(header)
		payload := make([]byte, h.Len())
		if _, err := io.ReadFull(r, payload); err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
		if h.Type() != frame.DATA {
			continue
		}
		for i, b := range payload {
			if b != byte((got+i)>>10) {
				t.Fatalf("byte %d is %d", got+i, b)
			}
		}
		if got += len(payload); got >= next {
			now()
			next += size / 10
		}
		if h.Flags()&frame.FlagEnd != 0 {
			break
		}
	}
	if got != size {
		t.Errorf("%d of %d bytes", got, size)
	}
}
