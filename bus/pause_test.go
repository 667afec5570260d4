package bus

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
)

// fromElsewhere is a connection of another machine.
type fromElsewhere struct {
	net.Conn
	ip net.IP
}

func (c fromElsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: c.ip, Port: 4000} }

// Connections from an address that keeps sending wrong secrets are closed for a while. This machine
// and authenticated clients are not affected.
func TestWrongSecretsPauseAnAddress(t *testing.T) {
	s, err := New(Config{Token: "right"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown(context.Background())
	// try connects with a token, and gives the last line that comes; "" if nothing does.
	try := func(ip, token string) (last string) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		if err := s.admit(fromElsewhere{theirs, net.ParseIP(ip)}, onTCP); err != nil {
			theirs.Close()
			return ""
		}
		in := bufio.NewScanner(ours)
		if !in.Scan() || !strings.HasPrefix(in.Text(), "INFO") {
			t.Fatalf("no INFO but %q", in.Text())
		}
		if _, err := ours.Write([]byte(`CONNECT {"verbose":false,"auth_token":"` + token + `"}` + "\r\nPING\r\n")); err != nil {
			t.Fatal(err)
		}
		for in.Scan() {
			if last = in.Text(); last == "PONG" || strings.HasPrefix(last, "-ERR") {
				return last
			}
		}
		return last
	}
	const violation = "-ERR 'Authorization Violation'"
	for i, c := range []struct{ ip, token, want string }{
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "right", "PONG"}, // which forgives
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "wrong", violation},
		{"192.0.2.1", "right", ""},
		{"192.0.2.2", "right", "PONG"},
		{"127.0.0.1", "wrong", violation},
		{"127.0.0.1", "wrong", violation},
		{"127.0.0.1", "wrong", violation},
		{"127.0.0.1", "wrong", violation},
		{"127.0.0.1", "wrong", violation},
		{"127.0.0.1", "wrong", violation},
		{"127.0.0.1", "right", "PONG"},
	} {
		if got := try(c.ip, c.token); got != c.want {
			t.Errorf("%d: %s with %s: %q, want %q", i, c.ip, c.token, got, c.want)
		}
	}
	if n := s.Stats().Paused; n != 1 {
		t.Errorf("%d are counted, want 1", n)
	}
}

// A client may have the default number of subscriptions if the configuration has no other.
func TestSubscriptionsAreBoundedByDefault(t *testing.T) {
	for given, want := range map[int]int{0: DefaultMaxSubs, -1: -1, 7: 7} {
		if cfg, err := (Config{MaxSubs: given}).withDefaults(); err != nil || cfg.MaxSubs != want {
			t.Errorf("%d: %d, %v; want %d", given, cfg.MaxSubs, err, want)
		}
	}
}
