package bus_test

import (
	"testing"

	"paddock/bus"
)

// Without headers, INFO reports no support, messages come without theirs, HPUB ends the connection,
// and a client that requires no-responders answers is refused.
func TestNoHeaders(t *testing.T) {
	s := startServer(t, bus.Config{NoHeaders: true})
	p := dialRaw(t, s)
	if info := p.greeting(); info["headers"] != false {
		t.Errorf("headers: %v", info["headers"])
	}
	p.write("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB a 1\r\nPING\r\n")
	p.expect("after CONNECT", "PONG\r\n")
	local := s.Local("test")
	defer local.Close()
	if err := local.Publish("a", "", []byte("NATS/1.0\r\nK: v\r\n\r\n"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	p.expect("a message with a header", "MSG a 1 1\r\nx\r\n")
	p.write("HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
	if p.more() {
		t.Errorf("HPUB is answered %q", p.buf)
	}
	p = dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nPING\r\n")
	p.expect("no_responders", "-ERR 'no responders requires headers support'\r\n")
	if p.more() {
		t.Errorf("and then %q", p.buf)
	}
}
