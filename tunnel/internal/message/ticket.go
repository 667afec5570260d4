package message

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

// What a direct channel begins with: SPEC section 6.1.
const (
	// DirectPreface is what a channel begins with.
	DirectPreface = "\x8aBARE\r\n\x01"
	// DirectALPN is what it is called in TLS.
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

// NewTicket makes one that nobody can guess.
func NewTicket() *Ticket {
	t := &Ticket{}
	_, _ = rand.Read(t.ID[:]) // never fails
	_, _ = rand.Read(t.Secret[:])
	return t
}

// Proof is what shows that a side, "client" or "server", knows the secret: ProofBytes.
func (t *Ticket) Proof(side string) []byte {
	m := hmac.New(sha256.New, t.Secret[:])
	_, _ = m.Write([]byte("tunnel direct " + side))
	_, _ = m.Write(t.ID[:])
	return m.Sum(nil)
}

// Proves compares a proof of a side in constant time.
func (t *Ticket) Proves(side string, proof []byte) bool { return hmac.Equal(t.Proof(side), proof) }

// Hello is what the client says first: HelloBytes.
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
