package bus_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// upgrade reads INFO in plain and does the handshake, as clients do.
func upgrade(t *testing.T, s *bus.Server, cfg *tls.Config) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var line []byte
	for b := make([]byte, 1); len(line) == 0 || line[len(line)-1] != '\n'; {
		if _, err := conn.Read(b); err != nil {
			t.Fatal(err)
		}
		line = append(line, b...)
	}
	return newPeer(t, tls.Client(conn, cfg))
}

func TestTLSClients(t *testing.T) {
	mine := theAuthority().issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "ann"}})
	other := theAuthority().issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "eve"}})
	verify := serverConfig(t)
	verify.ClientAuth = tls.RequireAndVerifyClientCert
	newer := serverConfig(t)
	newer.MinVersion = tls.VersionTLS13
	for name, tc := range map[string]struct {
		cfg     bus.TLS
		options []nats.Option
		refused bool
	}{
		"upgrade":                    {bus.TLS{}, []nats.Option{nats.Secure(clientConfig())}, false},
		"required by INFO":           {bus.TLS{}, []nats.Option{rootPool}, false},
		"TLS 1.2":                    {bus.TLS{}, []nats.Option{nats.Secure(atMost(tls.VersionTLS12))}, false},
		"too old":                    {bus.TLS{Config: newer}, []nats.Option{nats.Secure(atMost(tls.VersionTLS12))}, true},
		"not trusted":                {bus.TLS{}, []nats.Option{nats.Secure(&tls.Config{})}, true},
		"certificate":                {bus.TLS{Config: verify}, []nats.Option{nats.Secure(clientConfig(mine))}, false},
		"no certificate":             {bus.TLS{Config: verify}, []nats.Option{nats.Secure(clientConfig())}, true},
		"pinned":                     {bus.TLS{Config: verify, PinnedCerts: []string{strings.ToUpper(pin(mine))}}, []nats.Option{nats.Secure(clientConfig(mine))}, false},
		"not pinned":                 {bus.TLS{Config: verify, PinnedCerts: []string{pin(mine)}}, []nats.Option{nats.Secure(clientConfig(other))}, true},
		"mixed, with TLS":            {bus.TLS{AllowNonTLS: true}, []nats.Option{nats.Secure(clientConfig())}, false},
		"mixed, without":             {bus.TLS{AllowNonTLS: true}, nil, false},
		"first":                      {bus.TLS{HandshakeFirst: true}, []nats.Option{nats.Secure(clientConfig()), nats.TLSHandshakeFirst()}, false},
		"first, or after INFO: it":   {bus.TLS{HandshakeFirst: true, Fallback: time.Minute}, []nats.Option{nats.Secure(clientConfig()), nats.TLSHandshakeFirst()}, false},
		"first, or after INFO: then": {bus.TLS{HandshakeFirst: true, Fallback: time.Millisecond}, []nats.Option{nats.Secure(clientConfig())}, false},
		"first, or plain":            {bus.TLS{HandshakeFirst: true, Fallback: time.Millisecond, AllowNonTLS: true}, nil, false},
		"in process":                 {bus.TLS{}, []nats.Option{inProcess}, false},
		"in process, with TLS":       {bus.TLS{}, []nats.Option{inProcess, nats.Secure(clientConfig())}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.cfg.Config == nil {
				tc.cfg.Config = serverConfig(t)
			}
			s := startServer(t, bus.Config{TLS: &tc.cfg})
			options := tc.options
			for i, o := range options {
				if fmt.Sprintf("%p", o) == fmt.Sprintf("%p", nats.Option(inProcess)) {
					options[i] = nats.InProcessServer(s)
				}
			}
			nc, err := nats.Connect("nats://"+s.Addr().String(), options...)
			if tc.refused {
				if err == nil {
					nc.Close()
					t.Fatal("connected")
				}
				closed := s.Stats().Closed
				for end := time.Now().Add(patience); len(closed) == 0 && time.Now().Before(end); {
					runtime.Gosched()
					closed = s.Stats().Closed
				}
				if closed[bus.TLSHandshakeFailure] != 1 {
					t.Errorf("%v; closed %v", err, closed)
				}
				return
			}
			check(t, err)
			defer nc.Close()
			echoes(t, nc)
		})
	}
}

// inProcess stands for the option that needs the server.
func inProcess(*nats.Options) error { return errors.New("not replaced") }

func rootPool(o *nats.Options) error {
	o.TLSConfig = &tls.Config{RootCAs: theAuthority().pool}
	return nil
}

func atMost(version uint16) *tls.Config {
	cfg := clientConfig()
	cfg.MaxVersion = version
	return cfg
}

// echoes sends messages of many sizes around.
func echoes(t *testing.T, nc *nats.Conn) {
	t.Helper()
	sub := must[*nats.Subscription](t)(nc.SubscribeSync("a.*"))
	sizes := []int{0, 1, 100, 16 << 10, 64 << 10, 65<<10 + 1, 1 << 20, 7}
	for i := range 300 {
		sizes = append(sizes, i*31)
	}
	for i, n := range sizes {
		body := strings.Repeat(string(rune('a'+i%26)), n)
		check(t, nc.Publish("a.b", []byte(body)))
	}
	for i, n := range sizes {
		m := must[*nats.Msg](t)(sub.NextMsg(patience))
		if string(m.Data) != strings.Repeat(string(rune('a'+i%26)), n) {
			t.Fatalf("message %d of %d bytes came with %d", i, n, len(m.Data))
		}
	}
	check(t, nc.Flush())
}

func TestTLSInfo(t *testing.T) {
	verify := serverConfig(t)
	verify.ClientAuth = tls.RequireAndVerifyClientCert
	for name, tc := range map[string]struct {
		cfg                         bus.TLS
		inProcess                   bool
		required, available, verify any
	}{
		"required":   {bus.TLS{}, false, true, nil, nil},
		"verify":     {bus.TLS{Config: verify}, false, true, nil, true},
		"mixed":      {bus.TLS{AllowNonTLS: true}, false, nil, true, nil},
		"in process": {bus.TLS{}, true, nil, true, nil},
	} {
		if tc.cfg.Config == nil {
			tc.cfg.Config = serverConfig(t)
		}
		s := startServer(t, bus.Config{TLS: &tc.cfg})
		p := dialRawTo(t, s, tc.inProcess)
		for i := range 2 {
			info := p.greeting()
			if info["tls_required"] != tc.required || info["tls_available"] != tc.available || info["tls_verify"] != tc.verify {
				t.Errorf("%s: %v", name, info)
			}
			if i == 1 || tc.required != nil {
				break
			}
			p.write("CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n") // brings the second one
			p.expect(name, "PONG\r\n")
		}
		p.close()
	}
}

func dialRawTo(t *testing.T, s *bus.Server, inProcess bool) *peer {
	if !inProcess {
		return dialRaw(t, s)
	}
	return newPeer(t, must[net.Conn](t)(s.InProcessConn()))
}

// The end of a connection with TLS has its reason, sealed, and TLS's own end.
func TestTLSCloseHasItsReason(t *testing.T) {
	s := startServer(t, bus.Config{Token: "x", TLS: &bus.TLS{Config: serverConfig(t)}})
	p := upgrade(t, s, clientConfig())
	p.write("PUB a 1\r\n")
	p.expect("reason", "-ERR 'Authorization Violation'\r\n")
	if p.more() {
		t.Errorf("then %q", p.buf)
	}
	if _, err := p.conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v: no close_notify", err)
	}
	if st := s.Stats(); st.Closed[bus.AuthenticationFailure] != 1 {
		t.Errorf("closed: %v", st.Closed)
	}
}

// A client that does not do the handshake gets a plain error, or only TLS's own alert after bytes
// that TLS can answer.
func TestTLSHandshakeFailures(t *testing.T) {
	for name, tc := range map[string]struct{ send, want string }{
		"silent":  {"", "-ERR 'Secure Connection - TLS Required'\r\n"},
		"partial": {"\x16\x03\x01\x02", ""},
		"plain":   {"CONNECT {}\r\nPING\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, bus.Config{TLS: &bus.TLS{Config: serverConfig(t), Timeout: 50 * time.Millisecond}})
			p := dialPeer(t, s)
			if tc.send != "" {
				p.write("%s", tc.send)
			}
			p.expect(name, tc.want)
			for p.more() { //nolint:revive // to the end
			}
			if len(p.buf) > 0 && p.buf[0] != 0x15 { // an alert is TLS's own affair
				t.Errorf("then %q", p.buf)
			}
			if st := s.Stats(); st.Closed[bus.TLSHandshakeFailure] != 1 {
				t.Errorf("closed: %v", st.Closed)
			}
		})
	}
}

func TestTLSRate(t *testing.T) {
	s := startServer(t, bus.Config{TLS: &bus.TLS{Config: serverConfig(t), Rate: 1, Timeout: patience}})
	dialPeer(t, s).write("\x16\x03\x01\x02\x00\x01") // begun
	for dialed := uint64(1); ; dialed++ {            // until two come within a second
		p := dialPeer(t, s)
		if len(p.buf) == 0 {
			select {
			case b := <-p.in:
				p.buf = b
			case <-time.After(100 * time.Millisecond): // the second was over, or the answer is late: once more
				continue
			}
		}
		p.expect("refused", "-ERR 'Connection throttling is active. Please try again later.'\r\n")
		for p.more() { //nolint:revive // to the end
		}
		if st := s.Stats(); st.Closed[bus.MaxConnectionsExceeded] < 1 || st.Closed[bus.MaxConnectionsExceeded] > dialed {
			t.Errorf("closed: %v", st.Closed)
		}
		return
	}
}

// The certificate names the user, whose permissions hold.
func TestTLSMapsUsers(t *testing.T) {
	verify := serverConfig(t)
	verify.ClientAuth = tls.RequireAndVerifyClientCert
	s := startServer(t, bus.Config{
		TLS: &bus.TLS{Config: verify, MapUsers: true},
		Users: []bus.User{
			{Name: "O=Fleet, CN=ann", Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"pos.>"}}}},
		},
	})
	ann := theAuthority().issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "ann", Organization: []string{"Fleet"}}})
	failed := make(chan error, 1)
	nc := connect(t, s, nats.Secure(clientConfig(ann)), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failed <- err }))
	check(t, nc.Publish("pos.a", nil))
	check(t, nc.Publish("other", nil))
	if err := <-failed; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("got %v", err)
	}
	if list := s.Connections(); len(list) != 1 || list[0].User != "O=Fleet, CN=ann" || list[0].TLS == nil || list[0].TLS.Peers[0].Subject != "CN=ann,O=Fleet" {
		t.Errorf("%+v", list)
	}
	eve := theAuthority().issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "eve", Organization: []string{"Fleet"}}})
	if _, err := nats.Connect("nats://"+s.Addr().String(), nats.Secure(clientConfig(eve))); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("somebody else: %v", err)
	}
}

// Unfinished handshakes keep no other client out, however many there are.
func TestTLSHandshakesThatStopKeepNobodyOut(t *testing.T) {
	s := startServer(t, bus.Config{TLS: &bus.TLS{Config: serverConfig(t), Timeout: time.Minute}})
	for range 100 {
		p := dialPeer(t, s)
		p.write("\x16\x03\x01\x02\x00\x01")
	}
	nc := connect(t, s, nats.Secure(clientConfig()))
	echoes(t, nc)
}

// A server ends while handshakes go on.
func TestShutdownDuringHandshakes(t *testing.T) {
	s := startServer(t, bus.Config{TLS: &bus.TLS{Config: serverConfig(t), Timeout: time.Hour}})
	var peers []*peer
	for i := range 10 {
		p := dialPeer(t, s)
		if i%2 == 0 {
			p.write("\x16\x03\x01\x02\x00\x01")
		}
		peers = append(peers, p)
	}
	shutdown(t, s)
	for _, p := range peers {
		if p.more() {
			t.Errorf("got %q", p.buf)
		}
	}
	if st := s.Stats(); st.Closed[bus.ServerShutdown] != 10 {
		t.Errorf("closed: %v", st.Closed)
	}
}

func TestTLSConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]bus.TLS{
		"no configuration": {},
		"no certificate":   {Config: &tls.Config{}},
		"negative":         {Config: serverConfig(t), Timeout: -1},
		"no verification":  {Config: serverConfig(t), MapUsers: true},
		"pin":              {Config: &tls.Config{Certificates: serverConfig(t).Certificates, ClientAuth: tls.RequireAnyClientCert}, PinnedCerts: []string{"abc"}},
		"pin, no asking":   {Config: serverConfig(t), PinnedCerts: []string{strings.Repeat("a", 64)}},
	} {
		if _, err := bus.New(bus.Config{TLS: &cfg}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A handshake that panics ends its connection, and gives back the limits that it had taken.
func TestPanicInAHandshake(t *testing.T) {
	cfg := serverConfig(t)
	cert := cfg.Certificates[0]
	var sound atomic.Bool
	cfg.Certificates = nil
	cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !sound.Load() {
			panic("no certificate")
		}
		return &cert, nil
	}
	s := startServer(t, bus.Config{TLS: &bus.TLS{Config: cfg}})
	for range 20 { // more than handshakes at once
		p := upgrade(t, s, clientConfig())
		if p.more() {
			t.Fatalf("got %q", p.buf)
		}
	}
	sound.Store(true)
	echoes(t, connect(t, s, nats.Secure(clientConfig())))
}
