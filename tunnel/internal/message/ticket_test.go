package message

import (
	"bytes"
	"testing"
)

func TestDirectVectors(t *testing.T) {
	a := &Ticket{}
	for i := range TicketBytes {
		if i < TicketIDBytes {
			a.ID[i] = byte(i)
		} else {
			a.Secret[i-TicketIDBytes] = byte(i)
		}
	}
	says := map[string][]byte{"client": a.Hello(), "server": a.Proof("server")}
	for _, c := range exchangeCases(t) {
		if c.message == "direct" && !bytes.Equal(says[c.want], c.bytes) {
			t.Errorf("%s: %x, want %x", c.name, says[c.want], c.bytes)
		}
	}
}
