// Package clienthello reads the first message of a TLS connection, which names the host that the
// client wants, without answering it: a proxy that relays TLS reads it and passes on every byte.
//
// The message may arrive in any number of records, segments and single bytes (RFC 8446 section
// 5.1): with a post-quantum key share it is larger than a single read.
package clienthello

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/cryptobyte"
)

// MaxBytes bounds the buffer of a Reader: a record of TLS at its largest, with the headers of some
// more.
const MaxBytes = 16<<10 + 256

const (
	recordHeader    = 5
	maxRecord       = 16 << 10 // RFC 8446 section 5.1
	handshakeRecord = 22
	clientHello     = 1

	extServerName = 0      // RFC 6066 section 3
	extALPN       = 16     // RFC 7301 section 3.1
	extECH        = 0xfe0d // RFC 9849
	hostName      = 0
)

var (
	// ErrNotTLS means that the bytes are not those of TLS.
	ErrNotTLS = errors.New("not TLS")
	// ErrTooLarge means that MaxBytes came without the end of the message.
	ErrTooLarge = fmt.Errorf("ClientHello of more than %d bytes", MaxBytes)
)

// Hello holds the fields of a client's first message.
type Hello struct {
	ServerName string   // in lower case, without a dot at its end; "": none was sent
	ALPN       []string // the protocols it offers, the preferred first
	// ECH reports that there is an encrypted ClientHello within: ServerName is then the name of the
	// public front, not of the real destination.
	ECH bool
}

// Reader gathers a ClientHello. The zero value is ready.
type Reader struct {
	raw     []byte
	message []byte
	at      int // in raw: behind the last record that was looked at in whole
}

// Bytes returns all bytes that were fed: a backend must receive them first.
func (r *Reader) Bytes() []byte { return r.raw }

// Feed takes the next bytes, all of them. done reports that the message is complete, and h holds
// its fields. An error is final.
func (r *Reader) Feed(b []byte) (h Hello, done bool, err error) {
	r.raw = append(r.raw, b...)
	for len(r.raw)-r.at >= recordHeader {
		header := r.raw[r.at:]
		length := int(header[3])<<8 | int(header[4])
		switch {
		case header[0] != handshakeRecord || header[1] != 3:
			return h, false, ErrNotTLS
		case length == 0 || length > maxRecord:
			return h, false, fmt.Errorf("byte %d: record of %d bytes", r.at, length)
		}
		if len(header) < recordHeader+length {
			break
		}
		r.message = append(r.message, header[recordHeader:recordHeader+length]...)
		r.at += recordHeader + length
		if h, done, err = r.parse(); done || err != nil {
			return h, done, err
		}
	}
	if len(r.raw) > 0 && r.raw[0] != handshakeRecord {
		return h, false, ErrNotTLS
	}
	if len(r.raw) > MaxBytes {
		return h, false, ErrTooLarge
	}
	return h, false, nil
}

// parse reads the message as soon as it is whole.
func (r *Reader) parse() (h Hello, done bool, err error) {
	if r.message[0] != clientHello {
		return h, false, fmt.Errorf("handshake message of type %d, want a ClientHello", r.message[0])
	}
	if len(r.message) < 4 {
		return h, false, nil
	}
	length := int(r.message[1])<<16 | int(r.message[2])<<8 | int(r.message[3])
	if length > MaxBytes {
		return h, false, ErrTooLarge
	}
	if len(r.message) < 4+length {
		return h, false, nil
	}
	if !h.read(r.message[4 : 4+length]) {
		return Hello{}, false, errors.New("malformed ClientHello")
	}
	if err := h.check(); err != nil {
		return Hello{}, false, err
	}
	return h, true, nil
}

// read takes the body of a ClientHello apart, RFC 8446 section 4.1.2.
func (h *Hello) read(body []byte) bool {
	s := cryptobyte.String(body)
	var session, suites, compression, extensions cryptobyte.String
	if !s.Skip(2+32) || !s.ReadUint8LengthPrefixed(&session) || len(session) > 32 ||
		!s.ReadUint16LengthPrefixed(&suites) || len(suites) == 0 || len(suites)%2 != 0 ||
		!s.ReadUint8LengthPrefixed(&compression) || len(compression) == 0 {
		return false
	}
	if s.Empty() { // before TLS 1.3 there may be no extensions
		return true
	}
	if !s.ReadUint16LengthPrefixed(&extensions) || !s.Empty() {
		return false
	}
	seen := make(map[uint16]bool)
	for !extensions.Empty() {
		var id uint16
		var data cryptobyte.String
		if !extensions.ReadUint16(&id) || !extensions.ReadUint16LengthPrefixed(&data) || seen[id] {
			return false
		}
		seen[id] = true
		ok := true
		switch id {
		case extServerName:
			ok = h.readName(data)
		case extALPN:
			ok = h.readALPN(data)
		case extECH:
			h.ECH = true
		}
		if !ok {
			return false
		}
	}
	return true
}

func (h *Hello) readName(data cryptobyte.String) bool {
	var names cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&names) || !data.Empty() || names.Empty() {
		return false
	}
	for !names.Empty() {
		var kind uint8
		var name cryptobyte.String
		if !names.ReadUint8(&kind) || !names.ReadUint16LengthPrefixed(&name) || name.Empty() {
			return false
		}
		if kind != hostName {
			continue
		}
		if h.ServerName != "" { // one of each kind
			return false
		}
		h.ServerName = string(name)
	}
	return true
}

func (h *Hello) readALPN(data cryptobyte.String) bool {
	var list cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&list) || !data.Empty() || list.Empty() {
		return false
	}
	for !list.Empty() {
		var name cryptobyte.String
		if !list.ReadUint8LengthPrefixed(&name) || name.Empty() {
			return false
		}
		h.ALPN = append(h.ALPN, string(name))
	}
	return true
}

// check holds that the name can be a host's, and makes it the form in which names
// are compared. RFC 6066: ASCII, and no address. Some clients do send the dot at
// the end that it forbids.
func (h *Hello) check() error {
	name := strings.ToLower(strings.TrimSuffix(h.ServerName, "."))
	if h.ServerName == "" {
		return nil
	}
	if len(name) > 253 {
		return fmt.Errorf("server name of %d bytes, at most 253", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("server name %q", h.ServerName)
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
		default:
			return fmt.Errorf("server name %q: byte %d", h.ServerName, i)
		}
	}
	h.ServerName = name
	return nil
}
