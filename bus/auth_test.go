package bus_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"

	"paddock/bus"
)

func hashOf(t *testing.T, secret string, cost int) string {
	t.Helper()
	return string(must[[]byte](t)(bcrypt.GenerateFromPassword([]byte(secret), cost)))
}

// keyUser is a pair of keys, and the option of nats.go to connect with it.
func keyUser(t *testing.T) (public string, option nats.Option, pair nkeys.KeyPair) {
	t.Helper()
	pair = must[nkeys.KeyPair](t)(nkeys.CreateUser())
	public = must[string](t)(pair.PublicKey())
	return public, nats.Nkey(public, pair.Sign), pair
}

func TestGoClientAuthenticates(t *testing.T) {
	public, withKey, _ := keyUser(t)
	_, withOther, _ := keyUser(t)
	hash := hashOf(t, "secret", bcrypt.MinCost)
	users := []bus.User{
		{Name: "ann", Password: "secret"},
		{Name: "bob", Password: hash},
		{Name: "any", Password: "x"},
		{NKey: public},
		{Name: "web", Password: "w", Connections: []bus.ConnectionType{bus.ConnectionWebSocket}},
	}
	for name, c := range map[string]struct {
		cfg    bus.Config
		option nats.Option
		works  bool
	}{
		"nothing asked, credentials given": {bus.Config{}, nats.UserInfo("a", "b"), true},
		"token":                            {bus.Config{Token: "secret"}, nats.Token("secret"), true},
		"wrong token":                      {bus.Config{Token: "secret"}, nats.Token("Secret"), false},
		"hashed token":                     {bus.Config{Token: hash}, nats.Token("secret"), true},
		"user":                             {bus.Config{Username: "u", Password: "p"}, nats.UserInfo("u", "p"), true},
		"hashed password":                  {bus.Config{Username: "u", Password: hash}, nats.UserInfo("u", "secret"), true},
		"another user":                     {bus.Config{Username: "u", Password: hash}, nats.UserInfo("v", "secret"), false},
		"one of several":                   {bus.Config{Users: users}, nats.UserInfo("ann", "secret"), true},
		"one of several, hashed":           {bus.Config{Users: users}, nats.UserInfo("bob", "secret"), true},
		"one of several, wrong":            {bus.Config{Users: users}, nats.UserInfo("bob", hash), false},
		"nobody":                           {bus.Config{Users: users}, nats.UserInfo("eve", "secret"), false},
		"by another door":                  {bus.Config{Users: users}, nats.UserInfo("web", "w"), false},
		"without":                          {bus.Config{Users: users}, nats.Name(""), false},
		"without, as no_auth_user":         {bus.Config{Users: users, NoAuthUser: "any"}, nats.Name(""), true},
		"without, as a key":                {bus.Config{Users: users, NoAuthUser: public}, nats.Name(""), true},
		"wrong, with no_auth_user":         {bus.Config{Users: users, NoAuthUser: "any"}, nats.UserInfo("ann", "x"), false},
		"nkey":                             {bus.Config{Users: users}, withKey, true},
		"unknown nkey":                     {bus.Config{Users: users}, withOther, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, c.cfg)
			nc, err := nats.Connect("nats://"+s.Addr().String(), c.option)
			if err == nil {
				defer nc.Close()
				err = nc.Flush()
			}
			switch {
			case c.works && err != nil:
				t.Error(err)
			case !c.works && !errors.Is(err, nats.ErrAuthorization):
				t.Errorf("got %v, want %v", err, nats.ErrAuthorization)
			case !c.works && s.Stats().Closed[bus.AuthenticationFailure] != 1:
				t.Errorf("closed: %v", s.Stats().Closed)
			}
		})
	}
}

// A signature is of this connection's nonce, in either base64.
func TestNKeySignatures(t *testing.T) {
	public, _, pair := keyUser(t)
	s := startServer(t, bus.Config{Users: []bus.User{{NKey: public}}})
	for name, c := range map[string]struct {
		sig   func(nonce string) string
		works bool
	}{
		"base64url": {func(nonce string) string { return encode(t, pair, nonce, false) }, true},
		"base64":    {func(nonce string) string { return encode(t, pair, nonce, true) }, true},
		"another":   {func(nonce string) string { return encode(t, pair, nonce+"x", false) }, false},
		"none":      {func(string) string { return "" }, false},
		"no base64": {func(string) string { return "!" }, false},
		"too short": {func(string) string { return "AAAA" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := dialRaw(t, s)
			nonce, _ := p.greeting()["nonce"].(string)
			if len(nonce) != 15 || strings.ContainsAny(nonce, "+/=") {
				t.Errorf("nonce %q", nonce)
			}
			p.write("CONNECT {\"verbose\":true,\"nkey\":%q,\"sig\":%q,\"protocol\":1}\r\nPING\r\n", public, c.sig(nonce))
			if !c.works {
				p.expect("refused", "-ERR 'Authorization Violation'\r\n")
				return
			}
			p.expect("in", "+OK\r\nPONG\r\n")
			if line := p.line(); strings.Contains(line, "nonce") {
				t.Errorf("the second INFO has a nonce: %s", line)
			}
		})
	}
}

func TestInfoSaysWhatIsAskedFor(t *testing.T) {
	public, _, _ := keyUser(t)
	users := []bus.User{{Name: "a", Password: "b"}}
	for name, c := range map[string]struct {
		cfg          bus.Config
		asked, nonce bool
	}{
		"nothing":      {bus.Config{}, false, false},
		"users":        {bus.Config{Users: users}, true, false},
		"no_auth_user": {bus.Config{Users: users, NoAuthUser: "a"}, false, false},
		"nkeys":        {bus.Config{Users: []bus.User{{NKey: public}}}, true, true},
	} {
		info := dialRaw(t, startServer(t, c.cfg)).greeting()
		if _, nonce := info["nonce"]; nonce != c.nonce || (info["auth_required"] == true) != c.asked {
			t.Errorf("%s: %v", name, info)
		}
	}
}

// A vehicle of the platform: it publishes its positions and nothing else.
func TestGoClientMeetsPermissions(t *testing.T) {
	vehicle := &bus.Permissions{
		Publish:        bus.SubjectPermission{Allow: []string{"pos.red.>"}},
		Subscribe:      bus.SubjectPermission{Allow: []string{"cmd.red.>", "_INBOX.>"}, Deny: []string{"cmd.red.secret"}},
		AllowResponses: &bus.ResponsePermission{Max: 1},
	}
	s := startServer(t, bus.Config{Users: []bus.User{{Name: "v", Password: "v", Permissions: vehicle}, {Name: "boss", Password: "b"}}})
	errs := make(chan error, 10)
	v := connect(t, s, nats.UserInfo("v", "v"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	boss := connect(t, s, nats.UserInfo("boss", "b"))
	seen := must[*nats.Subscription](t)(boss.SubscribeSync("pos.>"))
	check(t, boss.Flush())
	check(t, v.Publish("pos.red.1", []byte("here")))
	check(t, v.Publish("pos.blue.1", []byte("there")))
	check(t, v.Flush())
	if m := must[*nats.Msg](t)(seen.NextMsg(patience)); m.Subject != "pos.red.1" {
		t.Errorf("got %s", m.Subject)
	}
	if err := <-errs; !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `Publish to "pos.blue.1"`) {
		t.Error(err)
	}
	must[*nats.Subscription](t)(v.Subscribe("cmd.red.*", func(m *nats.Msg) { m.Respond([]byte("done")) })) //nolint:errcheck // asked below
	check(t, v.Flush())
	if m := must[*nats.Msg](t)(boss.Request("cmd.red.stop", nil, patience)); string(m.Data) != "done" {
		t.Errorf("got %q", m.Data)
	}
	if _, err := boss.Request("cmd.red.secret", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a filtered request: %v", err)
	}
	must[*nats.Subscription](t)(v.SubscribeSync("pos.>"))
	check(t, v.Flush())
	if err := <-errs; !strings.Contains(err.Error(), fmt.Sprintf("Subscription to %q", "pos.>")) {
		t.Error(err)
	}
	if st := s.Stats(); st.Refused != 2 {
		t.Errorf("refused: %d", st.Refused)
	}
}

// A certificate is enough to be a user, and nothing else is if it has no password.
func TestUsersFromCertificates(t *testing.T) {
	ann := theAuthority().issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "ann"}})
	eve := theAuthority().issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "eve"}})
	verify := serverConfig(t)
	verify.ClientAuth = tls.RequireAndVerifyClientCert
	users := []bus.User{
		{Name: "CN=ann", Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"foo"}}}},
		{Name: "bob", Password: "b"},
	}
	cfg := bus.Config{Port: -1, Users: users, TLS: &bus.TLS{Config: verify, MapUsers: true}}
	s := startServer(t, cfg)
	p := upgrade(t, s, clientConfig(ann))
	p.write("CONNECT {\"verbose\":false,\"user\":\"bob\",\"pass\":\"b\"}\r\nPUB bar 0\r\n\r\nPING\r\n")
	p.expect("permissions of the certificate's user", "-ERR 'Permissions Violation for Publish to \"bar\"'\r\nPONG\r\n")
	stranger := upgrade(t, s, clientConfig(eve))
	stranger.write("CONNECT {\"user\":\"bob\",\"pass\":\"b\"}\r\n")
	stranger.expect("a certificate of nobody", "-ERR 'Authorization Violation'\r\n")
	for name, c := range map[string]struct {
		connect, answer string
	}{
		"no password":           {`{"user":"CN=ann"}`, "-ERR 'Authorization Violation'\r\n"},
		"the empty password":    {`{"user":"CN=ann","pass":""}`, "-ERR 'Authorization Violation'\r\n"},
		"another's credentials": {`{"user":"bob","pass":"b"}`, "+OK\r\n"},
	} {
		plain := newPeer(t, must[net.Conn](t)(s.InProcessConn()))
		plain.greeting()
		plain.write("CONNECT %s\r\n", c.connect)
		plain.expect(name, c.answer)
	}
	cfg.Users = users[1:]
	check(t, s.Reload(cfg))
	p.expect("the user is gone", "-ERR 'Authorization Violation'\r\n")
}

// A request stays open for its answer, however many others are answered before it.
func TestSlowAnswerAmongManyRequests(t *testing.T) {
	const rounds, each = 65, 1 << 10
	s := startServer(t, allows(&bus.Permissions{AllowResponses: &bus.ResponsePermission{}}))
	p := connectAs(t, s, "a")
	p.write("SUB svc 1\r\n")
	p.sync()
	l := s.Local("requester")
	check(t, l.Publish("svc", "in.slow", nil, nil))
	for round := range rounds {
		var requests []bus.Msg
		var answers strings.Builder
		for i := range each {
			reply := fmt.Sprintf("in.%d.%d", round, i)
			requests = append(requests, bus.Msg{Subject: "svc", Reply: reply})
			fmt.Fprintf(&answers, "PUB %s 0\r\n\r\n", reply)
		}
		check(t, l.PublishBatch(requests))
		p.sync()
		p.write("%s", answers.String())
		p.sync() // no -ERR
	}
	p.write("PUB in.slow 0\r\n\r\n")
	p.sync()
}
