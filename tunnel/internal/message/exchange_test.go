package message

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// exchangeCase is a line of testdata/exchange.txt.
type exchangeCase struct {
	name, message string
	bytes         []byte
	want          string
}

func exchangeCases(t testing.TB) (cases []exchangeCase) {
	file, err := os.ReadFile("testdata/exchange.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, "|", 4)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		b, err := hex.DecodeString(strings.ReplaceAll(parts[2], " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, exchangeCase{parts[0], parts[1], b, parts[3]})
	}
	return cases
}

func addressText(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// readMessage reads b and writes it again.
func readMessage(message string, b []byte) (text string, again []byte, err error) {
	switch message {
	case "opening":
		o, err := ParseOpening(b)
		return fmt.Sprintf("flags=%d tunnel=%d visitor=%s head=%q rest=%q", o.Flags, o.Tunnel, addressText(o.Visitor), o.Head, o.Rest),
			AppendOpening(nil, &o), err
	case "answer":
		head, rest, err := ParseAnswer(b)
		return fmt.Sprintf("head=%q rest=%q", head, rest), AppendAnswer(nil, head, rest), err
	case "hint":
		h, err := ParseHint(b)
		return fmt.Sprintf("state=%d tunnel=%d span=%v", h.State, h.Tunnel, h.Span), AppendHint(nil, h), err
	default:
		c, err := ParseChannel(b)
		ticket := ""
		if c.Ticket != nil {
			ticket = fmt.Sprintf(" ticket=%x/%x", c.Ticket.ID, c.Ticket.Secret)
		}
		return fmt.Sprintf("sni=%v tunnel=%d visitor=%s local=%s name=%q%s rest=%q", c.SNI, c.Tunnel,
			addressText(c.Visitor), addressText(c.Local), c.Name, ticket, c.Rest), AppendChannel(nil, &c), err
	}
}

func TestExchangeVectors(t *testing.T) {
	for _, c := range exchangeCases(t) {
		if c.message == "direct" {
			continue // see TestDirectVectors
		}
		text, again, err := readMessage(c.message, c.bytes)
		why, refused := strings.CutPrefix(c.want, "error ")
		switch {
		case refused && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: %v, want %q", c.name, err, why)
		case !refused && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !refused && text != c.want:
			t.Errorf("%s:\n got %s\nwant %s", c.name, text, c.want)
		case !refused && !bytes.Equal(again, c.bytes):
			t.Errorf("%s: written again: %x, want %x", c.name, again, c.bytes)
		}
	}
}

// FuzzExchange: whatever is taken is written again as it was.
func FuzzExchange(f *testing.F) {
	kinds := []string{"opening", "answer", "channel", "hint"}
	for _, c := range exchangeCases(f) {
		for i, kind := range kinds {
			if kind == c.message {
				f.Add(uint8(i), c.bytes)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		_, again, err := readMessage(kinds[int(which)%len(kinds)], b)
		if err == nil && !bytes.Equal(again, b) {
			t.Fatalf("%x is written again as %x", b, again)
		}
	})
}
