package message

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

// The first bytes of a direct channel: SPEC section 6.1.
const (
	// DirectPreface begins a channel.
	DirectPreface = "\x8aBARE\r\n\x01"
	// DirectALPN is its protocol name in TLS.
	DirectALPN = "paddock-direct/1"

	TicketIDBytes, TicketSecretBytes = 16, 32
	TicketBytes                      = TicketIDBytes + TicketSecretBytes
	ProofBytes                       = sha256.Size
	HelloBytes                       = len(DirectPreface) + TicketIDBytes + ProofBytes
)

// Ticket lets a client make one channel for one stream.
type Ticket struct {
	ID     [TicketIDBytes]byte
	Secret [TicketSecretBytes]byte
}

// NewTicket returns a ticket that cannot be guessed.
func NewTicket() *Ticket {
	t := &Ticket{}
	_, _ = rand.Read(t.ID[:]) // never fails
	_, _ = rand.Read(t.Secret[:])
	return t
}

// Proof proves that a side, "client" or "server", knows the secret: ProofBytes.
func (t *Ticket) Proof(side string) []byte {
	m := hmac.New(sha256.New, t.Secret[:])
	_, _ = m.Write([]byte("tunnel direct " + side))
	_, _ = m.Write(t.ID[:])
	return m.Sum(nil)
}

// Proves compares a proof of a side in constant time.
func (t *Ticket) Proves(side string, proof []byte) bool { return hmac.Equal(t.Proof(side), proof) }

// Hello returns the first message of the client: HelloBytes.
func (t *Ticket) Hello() []byte {
	return append(append([]byte(DirectPreface), t.ID[:]...), t.Proof("client")...)
}

func appendTicket(dst []byte, t *Ticket) []byte {
	return append(append(dst, t.ID[:]...), t.Secret[:]...)
}

func cutTicket(b []byte) (t *Ticket, rest []byte, err error) {
	if len(b) < TicketBytes {
		return nil, nil, Malformed("ticket of %d bytes", len(b))
	}
	t = &Ticket{}
	copy(t.ID[:], b)
	copy(t.Secret[:], b[TicketIDBytes:])
	return t, b[TicketBytes:], nil
}
