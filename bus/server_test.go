package bus_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"paddock/bus"
)

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]bus.Config{
		"port":                {Port: 65536},
		"negative limit":      {MaxPayload: -1},
		"negative duration":   {PingInterval: -1},
		"payload and pending": {MaxPayload: 2048, MaxPending: 1024},
		"deny":                {DenyPublish: []string{"a..b"}},
		"two kinds":           {Token: "t", Username: "u", Password: "p"},
		"user alone":          {Username: "u"},
		"password alone":      {Password: "p"},
		"token and users":     {Token: "t", Users: []bus.User{{Name: "u", Password: "p"}}},
		"user and users":      {Username: "v", Password: "p", Users: []bus.User{{Name: "u", Password: "p"}}},
		"two of one name":     {Users: []bus.User{{Name: "u", Password: "p"}, {Name: "u", Password: "q"}}},
		"user without name":   {Users: []bus.User{{Password: "p"}}},
		"nkey with password":  {Users: []bus.User{{Name: "u", NKey: "UABC"}}},
		"no nkey":             {Users: []bus.User{{NKey: "UABC"}}},
		"connection type":     {Users: []bus.User{{Name: "u", Connections: []bus.ConnectionType{"PIGEON"}}}},
		"no_auth_user":        {NoAuthUser: "u", Users: []bus.User{{Name: "v"}}},
		"no_auth_user alone":  {NoAuthUser: "u"},
		"publish with queue":  {Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"a q"}}}},
		"subject":             {Permissions: &bus.Permissions{Subscribe: bus.SubjectPermission{Deny: []string{"a..b"}}}},
		"queue":               {Permissions: &bus.Permissions{Subscribe: bus.SubjectPermission{Deny: []string{"a b..c"}}}},
		"three words":         {Permissions: &bus.Permissions{Subscribe: bus.SubjectPermission{Allow: []string{"a b c"}}}},
		"answers":             {Permissions: &bus.Permissions{AllowResponses: &bus.ResponsePermission{Max: -2}}},
	} {
		if _, err := bus.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRefusesToListenOpenly(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "::", "192.0.2.1"} {
		s := newServer(t, bus.Config{Host: host, Port: -1})
		if err := s.Start(); !errors.Is(err, bus.ErrOpenListen) {
			t.Errorf("%s: %v", host, err)
		}
	}
	s := newServer(t, bus.Config{Host: "0.0.0.0", Port: -1, Token: "secret"})
	if err := s.Start(); err != nil {
		t.Errorf("with a token: %v", err)
	}
	if err := s.Start(); !errors.Is(err, bus.ErrStarted) {
		t.Errorf("second Start: %v", err)
	}
	local := newServer(t, bus.Config{Host: "localhost", Port: -1})
	if err := local.Start(); err != nil {
		t.Errorf("localhost: %v", err)
	}
}

func TestInfo(t *testing.T) {
	s := startServer(t, bus.Config{ServerName: "here", MaxPayload: 1234, Token: "secret"})
	p := dialRaw(t, s)
	info := p.greeting()
	for field, want := range map[string]any{
		"server_id": s.ID(), "server_name": "here", "proto": 1.0, "headers": true,
		"host": "127.0.0.1", "max_payload": 1234.0, "auth_required": true,
		"client_ip": "127.0.0.1", "client_id": 1.0, "api_lvl": 2.0,
	} {
		if info[field] != want {
			t.Errorf("%s: %v, want %v", field, info[field], want)
		}
	}
	if id := s.ID(); len(id) != 56 || id[0] != 'N' {
		t.Errorf("server_id %q", id)
	}
	if v, _ := info["version"].(string); strings.Count(v, ".") != 2 || strings.ContainsAny(v, "-+v") {
		t.Errorf("version %q is no plain semver", v)
	}
	for _, never := range []string{"jetstream", "nonce", "connect_info", "tls_required"} {
		if _, ok := info[never]; ok {
			t.Errorf("%s is sent", never)
		}
	}
}

func TestCloseReasonsHaveTexts(t *testing.T) {
	for r := bus.ClientClosed; r <= bus.TLSHandshakeFailure; r++ {
		if r.String() == "Unknown" {
			t.Errorf("reason %d has no text", r)
		}
	}
	if bus.CloseReason(0).String() != "Unknown" || bus.CloseReason(255).String() != "Unknown" {
		t.Error("a text for no reason")
	}
}

// A client may send, close its side, and still read all the answers.
func TestHalfClosedClientReadsItsAnswers(t *testing.T) {
	s := startServer(t, configForTest)
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false}\r\nSUB a 1\r\nPUB a 1\r\nx\r\nPING\r\n")
	if err := p.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	p.expect("answers", "MSG a 1 1\r\nx\r\nPONG\r\n")
	if p.more() {
		t.Errorf("then %q", p.buf)
	}
	if st := s.Stats(); st.Closed[bus.ClientClosed] != 1 {
		t.Errorf("closed: %v", st.Closed)
	}
}

// The messages that were published before a PING are in the counters once its PONG has come.
func TestStatsArePublishedBeforePong(t *testing.T) {
	s := startServer(t, configForTest)
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB a 1\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPUB b 3\r\nabc\r\nPING\r\n")
	p.expect("answers", "HMSG a 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPONG\r\n")
	st := s.Stats()
	if st.InMsgs != 2 || st.InBytes != 17 || st.OutMsgs != 1 || st.OutBytes != 14 || st.Connections != 1 || st.Subscriptions != 1 {
		t.Errorf("%+v", st)
	}
}
