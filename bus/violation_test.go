package bus

import (
	"fmt"
	"testing"

	"paddock/bus/internal/protocol"
)

// Clients know the texts with which the parser's errors end connections.
func TestViolationOfParserErrors(t *testing.T) {
	for err, want := range map[error]string{
		protocol.ErrUnknownOperation: `"Unknown Protocol Operation" Protocol Violation`,
		protocol.ErrArguments:        `"" Protocol Violation`,
		protocol.ErrControlLine:      `"maximum control line exceeded" Maximum Control Line Exceeded`,
		protocol.ErrPayload:          `"Maximum Payload Violation" Maximum Message Payload Exceeded`,
		protocol.ErrConnectFirst:     `"Authorization Violation" Authentication Failure`,
		protocol.ErrClientError:      `"" Parse Error`,
		errStale:                     `"Stale Connection" Stale Connection`,
	} {
		v := violationOf(err)
		if v == nil {
			t.Errorf("%v ends no connection", err)
			continue
		}
		if got := fmt.Sprintf("%q %v", v.text, v.reason); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	if v := violationOf(nil); v != nil {
		t.Errorf("no error ends the connection with %v", v)
	}
}

// exactForms is a handler that compares the parser's exact form with the form that a message makes.
type exactForms struct {
	protocol.Handler
	t     *testing.T
	exact int
}

func (h *exactForms) OnPublish(p *protocol.Publication) error {
	m := new(message)
	m.reset(p.Subject, p.Reply, p.Payload[:p.Header], p.Payload[p.Header:])
	f, _ := m.formFor(true)
	form := fmt.Sprintf("%s%s%s%s", f.tail, f.header, f.data, f.end)
	if p.Exact != nil {
		h.exact++
		if string(p.Exact) != form {
			h.t.Errorf("the parser has %q, the message %q", p.Exact, form)
		}
	}
	return nil
}

func TestExactFormOfPublications(t *testing.T) {
	h := &exactForms{t: t}
	p := protocol.Parser{MaxLine: 100, MaxPayload: 100, Headers: true}
	in := "PUB a.b 3\r\nabc\r\nPUB subject reply 10\r\n0123456789\r\nPUB a\tb 2\r\nxy\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" +
		"PUB longer.subject r.2 10\r\n0123456789\r\n"
	if err := p.Feed([]byte(in), h); err != nil || h.exact < 2 {
		t.Errorf("%d publications in one piece, %v", h.exact, err)
	}
}
