package bus_test

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/bcrypt"

	"paddock/bus"
)

// allows is the configuration of user a, whose password is b, with permissions.
func allows(p *bus.Permissions) bus.Config {
	return bus.Config{Port: -1, Users: []bus.User{{Name: "a", Password: "b", Permissions: p}, {Name: "boss", Password: "b"}}}
}

func connectAs(t *testing.T, s *bus.Server, user string) *peer {
	t.Helper()
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false,\"user\":%q,\"pass\":\"b\"}\r\n", user)
	p.sync()
	return p
}

func TestReloadRefusesWhatCannotChange(t *testing.T) {
	before := bus.Config{Port: -1, ServerName: "here", Token: "t"}
	secure := bus.TLS{Config: serverConfig(t)}
	for field, change := range map[string]func(c *bus.Config){
		"Host":       func(c *bus.Config) { c.Host = "localhost" },
		"Port":       func(c *bus.Config) { c.Port = 4222 },
		"ServerName": func(c *bus.Config) { c.ServerName = "there" },
		"MaxClosed":  func(c *bus.Config) { c.MaxClosed = 1 },
		"Unix":       func(c *bus.Config) { c.Unix = "x" },
		"TLS":        func(c *bus.Config) { c.TLS = &secure },
		"WebSocket":  func(c *bus.Config) { c.WebSocket = &bus.WebSocket{Port: -1} },
	} {
		s := startServer(t, before)
		p := dialPeer(t, s)
		p.write("CONNECT {\"verbose\":false,\"auth_token\":\"t\"}\r\n")
		p.sync()
		next := before
		next.Token = "other"
		change(&next)
		if err := s.Reload(next); err == nil || !strings.Contains(err.Error(), field+" cannot change") {
			t.Errorf("%s: %v", field, err)
		}
		p.sync() // nothing has been applied
	}
	s := startServer(t, before)
	if err := s.Reload(bus.Config{Port: -1, ServerName: "here", MaxPayload: -1}); err == nil {
		t.Error("a configuration that is wrong is taken")
	}
	open := startServer(t, bus.Config{Host: "0.0.0.0", Token: "t"})
	if err := open.Reload(bus.Config{Host: "0.0.0.0", Port: -1}); !errors.Is(err, bus.ErrOpenListen) {
		t.Errorf("credentials taken away: %v", err)
	}
	meant := startServer(t, bus.Config{Host: "0.0.0.0", Token: "t", AllowOpen: true})
	if err := meant.Reload(bus.Config{Host: "0.0.0.0", Port: -1, AllowOpen: true}); err != nil {
		t.Errorf("an open one is meant: %v", err)
	}
}

// Each field of a configuration either takes effect or is refused. A new field fails this test
// until one of the two is decided.
func TestReloadKnowsEveryField(t *testing.T) {
	known := "Host Port ServerName MaxPayload MaxControlLine MaxPending MaxConns MaxSubs MaxClosed MaxSubTokens " +
		"SlowConsumers PingInterval PingMax WriteDeadline AuthTimeout Token Username Password Users NoAuthUser Permissions " +
		"TLS WebSocket Unix DenyPublish Logger logins"
	for f := range fieldsOf(reflect.TypeFor[bus.Config]()) {
		if !strings.Contains(" "+known+" ", " "+f.Name+" ") && f.Tag.Get("reload") == "" {
			t.Errorf("bus.Config.%s: tag it `reload:\"no\"` if it cannot change while the server runs, else `reload:\"yes\"`", f.Name)
		}
	}
}

func fieldsOf(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

func TestReloadClosesWhoIsNoLongerAuthorized(t *testing.T) {
	hash := hashOf(t, "b", bcrypt.MinCost)
	user := func(u bus.User) bus.Config { return bus.Config{Users: []bus.User{u}} }
	for name, c := range map[string]struct {
		before, after bus.Config
		stays         bool
	}{
		"nothing changed":        {user(bus.User{Name: "a", Password: "b"}), user(bus.User{Name: "a", Password: "b"}), true},
		"another password":       {user(bus.User{Name: "a", Password: "b"}), user(bus.User{Name: "a", Password: "c"}), false},
		"password hashed":        {user(bus.User{Name: "a", Password: "b"}), user(bus.User{Name: "a", Password: hash}), true},
		"another hashed":         {user(bus.User{Name: "a", Password: "b"}), user(bus.User{Name: "a", Password: hashOf(t, "c", bcrypt.MinCost)}), false},
		"same hash":              {user(bus.User{Name: "a", Password: hash}), user(bus.User{Name: "a", Password: hash}), true},
		"user gone":              {user(bus.User{Name: "a", Password: "b"}), user(bus.User{Name: "x", Password: "b"}), false},
		"door closed":            {user(bus.User{Name: "a", Password: "b"}), user(bus.User{Name: "a", Password: "b", Connections: []bus.ConnectionType{bus.ConnectionWebSocket}}), false},
		"users for a single one": {bus.Config{Username: "a", Password: "b"}, user(bus.User{Name: "a", Password: "b"}), true},
		"a token for users":      {user(bus.User{Name: "a", Password: "b"}), bus.Config{Token: "t"}, false},
		"nothing asked any more": {user(bus.User{Name: "a", Password: "b"}), bus.Config{}, true},
		"asked from now on":      {bus.Config{}, user(bus.User{Name: "a", Password: "b"}), true},
		"asked, and another":     {bus.Config{}, user(bus.User{Name: "a", Password: "c"}), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, c.before)
			p := connectAs(t, s, "a")
			p.write("SUB x 1\r\n")
			p.sync()
			c.after.Port = -1
			check(t, s.Reload(c.after))
			l := s.Local("publisher")
			check(t, l.Publish("x", "", nil, []byte("y")))
			if c.stays {
				p.expect("a message", "MSG x 1 1\r\ny\r\n")
				p.sync()
				return
			}
			p.expect("the end", "-ERR 'Authorization Violation'\r\n")
			if p.more() || s.Stats().Closed[bus.AuthenticationFailure] != 1 {
				t.Errorf("then %q, closed %v", p.buf, s.Stats().Closed)
			}
		})
	}
}

// A client that has not sent CONNECT may still do so, by the new rules.
func TestReloadBeforeConnect(t *testing.T) {
	s := startServer(t, bus.Config{Token: "t"})
	early, never := dialPeer(t, s), dialPeer(t, s)
	check(t, s.Reload(bus.Config{Port: -1, Token: "u"}))
	early.write("CONNECT {\"verbose\":true,\"auth_token\":\"u\"}\r\n")
	early.expect("by the new token", "+OK\r\n")
	check(t, s.Reload(bus.Config{Port: -1}))
	never.write("PING\r\n")
	never.expect("without any", "PONG\r\n")
	check(t, s.Reload(bus.Config{Port: -1, Token: "v"}))
	never.expect("with one again", "-ERR 'Authorization Violation'\r\n")
	early.expect("with one again", "-ERR 'Authorization Violation'\r\n")
}

func TestReloadTakesSubscriptionsAway(t *testing.T) {
	s := startServer(t, allows(nil))
	p := connectAs(t, s, "a")
	p.write("SUB foo x-1\r\nSUB bar q 2\r\nSUB > 3\r\n")
	p.sync()
	check(t, s.Reload(allows(&bus.Permissions{Subscribe: bus.SubjectPermission{Deny: []string{"foo", "sec.*"}}})))
	p.expect("foo", "-ERR 'Permissions Violation for Subscription to \"foo\" (sid \"x-1\")'\r\n")
	l := s.Local("publisher")
	for _, subject := range []string{"foo", "sec.x", "sec"} {
		check(t, l.Publish(subject, "", nil, nil))
	}
	p.expect("what is left", "MSG sec 3 0\r\n\r\n")
	check(t, s.Reload(allows(&bus.Permissions{Subscribe: bus.SubjectPermission{Allow: []string{">"}, Deny: []string{"bar q"}}})))
	p.expect("bar", "-ERR 'Permissions Violation for Subscription to \"bar\" using queue \"q\" (sid \"2\")'\r\n")
	for _, subject := range []string{"bar", "sec.x"} {
		check(t, l.Publish(subject, "", nil, nil))
	}
	p.expect("all again", "MSG bar 3 0\r\n\r\nMSG sec.x 3 0\r\n\r\n")
	p.sync()
	if n := s.Stats().Subscriptions; n != 1 {
		t.Errorf("%d subscriptions", n)
	}
	p.write("SUB foo x-1\r\n")
	p.sync() // the id is free again
	if n := s.Stats().Subscriptions; n != 2 {
		t.Errorf("%d subscriptions", n)
	}
}

func TestReloadChangesWhatMayBePublished(t *testing.T) {
	only := func(subject string) bus.Config {
		return allows(&bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{subject}}})
	}
	s := startServer(t, only("foo"))
	p := connectAs(t, s, "a")
	publish := func(denied string) {
		t.Helper()
		for range 3 {
			p.write("PUB foo 0\r\n\r\nPUB bar 0\r\n\r\nPING\r\n")
			p.expect("refused", fmt.Sprintf("-ERR 'Permissions Violation for Publish to %q'\r\nPONG\r\n", denied))
		}
	}
	publish("bar")
	check(t, s.Reload(only("bar")))
	publish("foo")
	deny := allows(nil)
	deny.DenyPublish = []string{"bar"}
	check(t, s.Reload(deny))
	publish("bar")
	deny.DenyPublish = []string{"foo"}
	check(t, s.Reload(deny))
	publish("foo")
}

func TestReloadChangesLimits(t *testing.T) {
	var log strings.Builder
	cfg := allows(nil)
	s := startServer(t, cfg)
	p := connectAs(t, s, "a")
	p.write("PUB x 100\r\n%0100d\r\nSUB a.b.c 1\r\n", 0)
	p.sync()
	cfg.MaxSubTokens, cfg.MaxSubs, cfg.MaxPayload = 2, 2, 10
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	check(t, s.Reload(cfg))
	p.write("SUB a.b.d 2\r\nSUB a.b 3\r\nSUB a 4\r\nPUB x 100\r\n")
	p.expect("limits", "-ERR 'Permissions Violation for Subscription to \"a.b.d\", too many tokens'\r\n"+
		"-ERR 'maximum subscriptions exceeded'\r\n-ERR 'Maximum Payload Violation'\r\n")
	if info := dialRaw(t, s).greeting(); info["max_payload"] != 10.0 {
		t.Errorf("INFO: %v", info)
	}
	shutdown(t, s)
	if !strings.Contains(log.String(), "Maximum Payload Violation") {
		t.Errorf("log: %s", &log)
	}
}

func TestReloadChangesTimes(t *testing.T) {
	within(t, bus.Config{Port: -1}, func(t *testing.T, s *bus.Server, p *peer) {
		p.write("CONNECT {\"verbose\":false}\r\n")
		p.expect("the first", "PING\r\n")
		p.write("PONG\r\n")
		begin := time.Now()
		check(t, s.Reload(bus.Config{Port: -1, PingInterval: time.Second, PingMax: 1}))
		p.expect("soon", "PING\r\n-ERR 'Stale Connection'\r\n")
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// Reloads, connects, subscriptions and publications at the same time: once a
// reload that denies has returned, nothing is delivered any more.
func TestNothingIsDeliveredAfterADeniedReload(t *testing.T) {
	denied := allows(&bus.Permissions{Subscribe: bus.SubjectPermission{Deny: []string{"x.secret"}}})
	s := startServer(t, allows(nil))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	publisher := connectAs(t, s, "boss")
	var now sync.Mutex // held while a message is published: the permission that it should meet
	state := "free"
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			now.Lock()
			publisher.write("PUB x.secret 4\r\n%s\r\nPUB x.open 4\r\n%s\r\n", state, state)
			publisher.sync()
			now.Unlock()
		}
	})
	for range 40 {
		p := connectAs(t, s, "a")
		p.write("SUB x.* 1\r\nSUB x.secret 2\r\n")
		p.sync()
		now.Lock() // nothing is published while the reload is under way
		check(t, s.Reload(denied))
		state = "deny"
		now.Unlock()
		p.write("SUB x.secret 3\r\nPING\r\n")
		for open := 0; open < 3; {
			line := p.line()
			switch {
			case strings.HasPrefix(line, "MSG x."):
				body := p.line()
				if body == "deny\r\n" && strings.HasPrefix(line, "MSG x.secret") {
					t.Fatalf("delivered: %q", line)
				}
				if body == "deny\r\n" {
					open++
				}
			case line == "PING\r\n", line == "PONG\r\n", strings.HasPrefix(line, "-ERR 'Permissions Violation"):
			default:
				t.Fatalf("got %q", line)
			}
		}
		p.close()
		now.Lock()
		check(t, s.Reload(allows(nil)))
		state = "free"
		now.Unlock()
	}
}

// Configurations that replace each other while clients come and go.
func TestReloadsWhileClientsConnect(t *testing.T) {
	hash := hashOf(t, "b", bcrypt.MinCost)
	configs := []bus.Config{
		allows(nil),
		allows(&bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"y"}}}),
		{Port: -1, Users: []bus.User{{Name: "a", Password: hash}}},
		{Port: -1, Token: "t"},
		{Port: -1},
	}
	s := startServer(t, configs[0])
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				p := newPeer(t, must2(s.InProcessConn()))
				p.line()
				p.conn.Write([]byte("CONNECT {\"user\":\"a\",\"pass\":\"b\"}\r\nSUB x 1\r\nPUB x 1\r\ny\r\nPING\r\n"))
				for line := p.line(); line != "PONG\r\n" && line != ""; line = p.line() {
				}
				p.close()
			}
		})
	}
	for i := range 200 {
		check(t, s.Reload(configs[i%len(configs)]))
	}
	wg.Wait()
	check(t, s.Shutdown(t.Context())) // so that all connections have ended
	if st := s.Stats(); st.Connections != 0 || st.Subscriptions != 0 {
		t.Errorf("%d subscriptions are left, of %d connections", st.Subscriptions, st.Connections)
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Connections beyond a lowered bound are closed like connections that come too late. The reason
// names the account's limit.
func TestReloadLowersMaxConnections(t *testing.T) {
	s := startServer(t, bus.Config{})
	told := make(chan error, 3)
	for range 3 {
		connect(t, s, nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
			nats.ClosedHandler(func(nc *nats.Conn) { told <- nc.LastError() }))
	}
	if err := s.Reload(bus.Config{Port: -1, MaxConns: 1, Account: "CITY"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-told; !errors.Is(err, nats.ErrMaxConnectionsExceeded) {
			t.Errorf("closed with %v", err)
		}
	}
	if n := s.Stats().Closed[bus.MaxConnectionsExceeded]; n != 2 {
		t.Errorf("%d closed", n)
	}
	if account := s.Settings().Account; account != "CITY" {
		t.Errorf("the account is %q", account)
	}
}
