package clienthello_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"paddock/tunnel/internal/clienthello"
)

// recorded returns the first bytes that a client of crypto/tls sends.
func recorded(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	near, far := net.Pipe()
	config.InsecureSkipVerify = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(near, config).Handshake()
	}()
	header := make([]byte, 5)
	if _, err := io.ReadFull(far, header); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	<-done
	return append(header, body...)
}

// inRecords cuts the one record of hello into records of n bytes.
func inRecords(hello []byte, n int) (all []byte) {
	for piece := range slices.Chunk(hello[5:], n) {
		all = append(all, hello[0], hello[1], hello[2], byte(len(piece)>>8), byte(len(piece)))
		all = append(all, piece...)
	}
	return all
}

// inPieces feeds b in pieces of n bytes, and holds that nothing is done early.
func inPieces(t *testing.T, b []byte, n int) (clienthello.Hello, error) {
	t.Helper()
	var r clienthello.Reader
	for i := 0; i < len(b); i += n {
		h, done, err := r.Feed(b[i:min(i+n, len(b))])
		if err != nil {
			return h, err
		}
		if done {
			if i+n < len(b) {
				t.Errorf("done %d bytes before the end", len(b)-i-n)
			}
			if !bytes.Equal(r.Bytes(), b) {
				t.Error("other bytes than were fed")
			}
			return h, nil
		}
	}
	return clienthello.Hello{}, io.ErrUnexpectedEOF
}

func TestHello(t *testing.T) {
	post := recorded(t, &tls.Config{ServerName: "Bus-17.example.com", NextProtos: []string{"h2", "http/1.1"}})
	if len(post) < 1400 {
		t.Errorf("a hello of %d bytes: it has no key share of ML-KEM, which it is here for", len(post))
	}
	old := recorded(t, &tls.Config{ServerName: "a.example", MaxVersion: tls.VersionTLS12})
	for _, c := range []struct {
		what string
		b    []byte
		name string
		alpn []string
	}{
		{"post-quantum", post, "bus-17.example.com", []string{"h2", "http/1.1"}},
		{"TLS 1.2", old, "a.example", nil},
		{"without a name", recorded(t, &tls.Config{}), "", nil},
		{"in records of a byte", inRecords(old, 1), "a.example", nil},
		{"in records of 100 bytes", inRecords(post, 100), "bus-17.example.com", []string{"h2", "http/1.1"}},
	} {
		for _, n := range []int{1, 7, 1400, 1 << 20} {
			h, err := inPieces(t, c.b, n)
			if err != nil || h.ServerName != c.name || !slices.Equal(h.ALPN, c.alpn) || h.ECH {
				t.Errorf("%s, %d bytes at a time: %+v, %v", c.what, n, h, err)
			}
		}
	}
}

// TestEncryptedHello checks that an outer name is reported as such.
func TestEncryptedHello(t *testing.T) {
	hello := withExtension(recorded(t, &tls.Config{ServerName: "front.example"}), 0xfe0d, []byte{0, 1, 2})
	if h, err := inPieces(t, hello, 1<<20); err != nil || !h.ECH || h.ServerName != "front.example" {
		t.Errorf("%+v, %v", h, err)
	}
}

// withExtension adds an extension to a hello in one record.
func withExtension(hello []byte, id uint16, data []byte) []byte {
	b := slices.Clone(hello)
	at := 5 + 4 + 2 + 32
	at += 1 + int(b[at])
	at += 2 + int(binary.BigEndian.Uint16(b[at:]))
	at += 1 + int(b[at])
	grown := 4 + len(data)
	binary.BigEndian.PutUint16(b[at:], binary.BigEndian.Uint16(b[at:])+uint16(grown))
	binary.BigEndian.PutUint16(b[7:], binary.BigEndian.Uint16(b[7:])+uint16(grown))
	binary.BigEndian.PutUint16(b[3:], binary.BigEndian.Uint16(b[3:])+uint16(grown))
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, uint16(len(data)))
	return append(b, data...)
}

func TestRefused(t *testing.T) {
	good := recorded(t, &tls.Config{ServerName: "a.example"})
	named := func(name string) []byte {
		bare := recorded(t, &tls.Config{})
		data := binary.BigEndian.AppendUint16(nil, uint16(len(name)+3))
		data = append(data, 0)
		data = binary.BigEndian.AppendUint16(data, uint16(len(name)))
		return withExtension(bare, 0, append(data, name...))
	}
	changed := func(at int, to byte) []byte {
		b := slices.Clone(good)
		b[at] = to
		return b
	}
	huge := inRecords(changed(6, 1), len(good)) // 64 KiB and more are announced
	for _, c := range []struct {
		what string
		b    []byte
		says string
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), "not TLS"},
		{"one wrong byte", []byte{23}, "not TLS"},
		{"SSL 2", []byte{0x80, 0x2e, 1, 0, 2}, "not TLS"},
		{"a server's hello", changed(5, 2), "message of type 2"},
		{"an empty record", []byte{22, 3, 1, 0, 0}, "record of 0 bytes"},
		{"a long record", []byte{22, 3, 1, 0xff, 0xff}, "record of 65535 bytes"},
		{"a long message", huge, "more than"},
		{"two names", withExtension(good, 0, []byte{0, 4, 0, 0, 1, 'a'}), "malformed"},
		{"a name with a space", named("a b"), "byte 1"},
		{"a name in UTF-8", named("bücher.example"), "byte 1"},
		{"an empty label", named("a..b"), "server name"},
		{"a long name", named(strings.Repeat("a.", 130) + "a"), "261 bytes"},
	} {
		if _, err := inPieces(t, c.b, 1<<20); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.what, err, c.says)
		}
	}
	for n := range good { // cut anywhere, it waits for more
		var r clienthello.Reader
		if _, done, err := r.Feed(good[:n]); done || err != nil {
			t.Fatalf("%d of %d bytes: %v, %v", n, len(good), done, err)
		}
	}
}

// TestBound checks that a message beyond MaxBytes is not waited for.
func TestBound(t *testing.T) {
	var r clienthello.Reader
	b := []byte{22, 3, 1, 0, 1, 1, 22, 3, 1, 0, 3, 0, 0x3f, 0xff} // a message of 16,383 bytes, in records of one
	var err error
	for fed := 0; err == nil; fed++ {
		if fed > clienthello.MaxBytes {
			t.Fatal("still no end")
		}
		_, _, err = r.Feed(b)
		b = []byte{22, 3, 1, 0, 1, 0}
	}
	if !errors.Is(err, clienthello.ErrTooLarge) || len(r.Bytes()) > clienthello.MaxBytes+len(b) {
		t.Errorf("%v, %d bytes", err, len(r.Bytes()))
	}
}

// FuzzHello compares with crypto/tls: messages that it accepts, with a name that is a valid host,
// are read alike.
func FuzzHello(f *testing.F) {
	good := recorded(f, &tls.Config{ServerName: "a.example", NextProtos: []string{"h2"}})
	f.Add(good)
	f.Add(inRecords(good, 50))
	f.Add(withExtension(good, 0xfe0d, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r clienthello.Reader
		h, done, err := r.Feed(b)
		if done && err != nil {
			t.Fatal("done, and", err)
		}
		var theirs *tls.ClientHelloInfo
		_ = tls.Server(&once{Reader: bytes.NewReader(b)}, &tls.Config{
			GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
				theirs = info
				return nil, errors.New("enough")
			},
		}).Handshake()
		switch {
		case theirs == nil || err != nil && strings.Contains(err.Error(), "server name"):
		case errors.Is(err, clienthello.ErrTooLarge):
		case errors.Is(err, clienthello.ErrNotTLS): // it takes records of major versions that never were, and warnings ahead
		case !done:
			t.Errorf("crypto/tls reads it, of %q; we: %v", theirs.ServerName, err)
		case h.ServerName != strings.ToLower(strings.TrimSuffix(theirs.ServerName, ".")) || !slices.Equal(h.ALPN, theirs.SupportedProtos):
			t.Errorf("%+v, crypto/tls: %q %q", h, theirs.ServerName, theirs.SupportedProtos)
		}
	})
}

// once is a connection on which nothing can be written.
type once struct {
	net.Conn
	io.Reader
}

func (o *once) Read(b []byte) (int, error)  { return o.Reader.Read(b) }
func (o *once) Write(b []byte) (int, error) { return len(b), nil }
func (o *once) Close() error                { return nil }
