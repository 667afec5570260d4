package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// members is a server with a group of clients, each with its own service.
type members struct {
	*pair
	group string
	small int // its clients' ClientConfig.SmallMax
}

func newMembers(t *testing.T, s *Server) *members {
	t.Helper()
	s.Identify = named
	if s.Limits.Lease == 0 {
		s.Limits.Lease = time.Minute
	}
	return &members{pair: newPair(t, s), group: "web"}
}

// ask starts a client that offers w. A client that was kicked stays away.
func (m *members) ask(agent string, w client.Tunnel) (c *client.Client, stop func()) {
	m.T.Helper()
	w.Name = agent
	return m.start(client.Config{Tunnels: []client.Tunnel{w}, Logger: silent, SmallMax: m.small}, wire.ClientConfig{
		Config: &wire.Config{Agent: agent, Logger: silent}, GiveUp: func(error) bool { return true },
	})
}

// joins is a client of the group with a handler for example.com, and waits until it is bound.
func (m *members) joins(agent string, h http.HandlerFunc) (c *client.Client, stop func()) {
	m.T.Helper()
	service := httptest.NewServer(h)
	m.T.Cleanup(service.Close)
	c, stop = m.ask(agent, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: m.group, Target: service.Listener.Addr().String()})
	m.bound(c)
	return c, stop
}

func (m *members) bound(c *client.Client) {
	m.T.Helper()
	m.Eventually("not bound", func() bool { return c.Bindings()[0].Err == nil })
}

// says returns a handler that answers with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// stuck answers with a text once it may.
type stuck struct {
	text    string
	entered chan string // gets the text
	release chan struct{}
}

func (m *members) stuck(text string, entered chan string) *stuck {
	s := &stuck{text, entered, make(chan struct{})}
	m.T.Cleanup(s.free)
	return s
}

func (s *stuck) serve(w http.ResponseWriter, r *http.Request) {
	s.entered <- s.text
	select {
	case <-s.release:
		fmt.Fprint(w, s.text)
	case <-r.Context().Done():
	}
}

func (s *stuck) free() {
	select {
	case <-s.release:
	default:
		close(s.release)
	}
}

// under starts some POSTs at the only member: more than the lane may still count for visitors that
// were just answered.
func (m *members) under(s *stuck) (results []chan string) {
	for range 3 {
		results = append(results, m.outcome("POST", nil))
		<-s.entered
	}
	return results
}

// outcome is how a visitor fared.
func (m *members) outcome(method string, header http.Header) chan string {
	got := make(chan string, 1)
	r := m.Request(method, "example.com", "/", nil)
	for name, values := range header {
		r.Header[name] = values
	}
	go func() {
		res, body := m.Do(r)
		got <- fmt.Sprint(res.StatusCode, " ", body)
	}()
	return got
}

// Visitors are spread: in turn one after another, and each to the member with the least load.
func TestGroupShares(t *testing.T) {
	m := newMembers(t, &Server{})
	entered := make(chan string, 8)
	slow := m.stuck("slow", entered)
	m.joins("three", slow.serve)
	under := m.under(slow)
	m.joins("one", says("one"))
	m.joins("two", says("two"))
	got := map[string]int{}
	for range 20 {
		_, body := m.Get("example.com", "/")
		got[body]++
		m.Eventually("who has answered counts", func() bool { return m.server.Stats().Requests == len(under) })
	}
	if got["one"] != 10 || got["two"] != 10 {
		t.Errorf("in turn: %v", got)
	}
	slow.free()
	for _, r := range under {
		if got := <-r; got != "200 slow" {
			t.Error(got)
		}
	}
	stats, held := m.server.Stats(), m.server.Held()
	if stats.Names != 1 || len(stats.Groups) != 1 || stats.Groups[0] != (GroupStats{"web", 1, 3, 3}) || len(held) != 3 || held[0].Members != 3 {
		t.Errorf("%+v %+v", stats, held)
	}
	for _, x := range m.server.Sessions() {
		if len(x.Groups) != 1 || x.Groups[0] != (Membership{"example.com", "web", 3, 3}) {
			t.Errorf("%+v", x)
		}
	}
}

// A name is shared only with clients that ask for the same name in the same group, and are allowed
// to have it.
func TestGroupRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		first, second client.Tunnel
		want          string // "": it is admitted
	}{
		"the same": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "Example.com.", Group: "web"}, "",
		},
		"no group at the first": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, "it is shared with no group",
		},
		"no group at the second": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com"}, "shared by a group",
		},
		"another group": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "Web"}, "another group",
		},
		"another path of the same group": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Path: "/a", Group: "web"}, "",
		},
		"another path of no group": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Path: "/a"}, "shared by a group",
		},
		"another protocol": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.SNI, Host: "example.com", Group: "web"}, "has it for http",
		},
		"no password at the second": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web", Auth: "a:b"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, "ask visitors for a user",
		},
		"a password at the second": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web", Auth: "a:b"}, "ask visitors for no user",
		},
		"names of TLS": {
			client.Tunnel{Protocol: tunnel.SNI, Host: "example.com", Group: "web"}, client.Tunnel{Protocol: tunnel.SNI, Host: "example.com", Group: "web"}, "",
		},
		"a policy that lets the second be of no group": {
			client.Tunnel{Protocol: tunnel.HTTP, Host: "strict.com", Group: "web"}, client.Tunnel{Protocol: tunnel.HTTP, Host: "strict.com", Group: "web"}, "policy does not allow",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMembers(t, &Server{Policy: tunnel.PolicyFunc(func(identity string, b tunnel.Binding) error {
				if b.Host == "strict.com" && b.Group != "" && identity != "first" {
					return tunnel.ErrDenied
				}
				return nil
			})})
			c.first.Target, c.second.Target = "1", "1"
			first, _ := m.ask("first", c.first)
			m.bound(first)
			second, _ := m.ask("second", c.second)
			m.Eventually("the second knows nothing", func() bool { return second.Bindings()[0].Err != wire.ErrNoConn })
			err := second.Bindings()[0].Err
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q: %v", c.want, err)
			}
			trial := m.try("second", c.second)
			if got := fmt.Sprint(trial.Err); got != fmt.Sprint(err) {
				t.Errorf("it is said beforehand that %s, and then %v", got, err)
			}
		})
	}
}

// try returns the result that binding would have.
func (m *members) try(agent string, w client.Tunnel) client.Trial {
	m.T.Helper()
	w.Name = agent
	c, err := client.New(client.Config{Tunnels: []client.Tunnel{w}, Logger: silent})
	if err != nil {
		m.T.Fatal(err)
	}
	conn, err := wire.Dial(m.T.Context(), "tcp", m.Link.Addr().String(), &wire.Config{Mux: wire.NewMux(), Agent: agent, Logger: silent})
	if err != nil {
		m.T.Fatal(err)
	}
	defer conn.Close()
	trials, err := c.Try(m.T.Context(), conn)
	if err != nil {
		m.T.Fatal(err)
	}
	return trials[0]
}

// Requests in progress at a lost member are repeated at another one, if that does no harm. All
// other requests go on.
func TestGroupMemberIsLost(t *testing.T) {
	for name, header := range map[string]http.Header{
		"small":    {},
		"streamed": {"X-Long": {strings.Repeat("x", message.MinSmall)}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMembers(t, &Server{})
			m.small = message.MinSmall
			entered := make(chan string, 8)
			m.joins("lost", m.stuck("lost", entered).serve)
			get, post := m.outcome("GET", header), m.outcome("POST", header)
			<-entered
			<-entered
			m.joins("other", says("other"))
			m.server.Kick("lost")
			if got := <-get; got != "200 other" {
				t.Errorf("GET: %s", got)
			}
			if got := <-post; !strings.HasPrefix(got, "502 ") {
				t.Errorf("POST: %s", got)
			}
			for range 10 {
				if res, body := m.Do(m.Request("POST", "example.com", "/", nil)); body != "other" {
					t.Errorf("%d %s", res.StatusCode, body)
				}
			}
			if n := m.server.Stats().Resent; n != 1 {
				t.Errorf("%d were sent again", n)
			}
			m.Eventually("the lost one is here", func() bool { return m.server.Stats().Groups[0] == GroupStats{"web", 1, 2, 1} })
		})
	}
}

// A request that crashes its member does not crash all of them.
func TestGroupDeadlyRequest(t *testing.T) {
	m := newMembers(t, &Server{})
	var killed atomic.Int32
	for i := range 5 {
		agent := fmt.Sprint("m", i)
		m.joins(agent, func(http.ResponseWriter, *http.Request) {
			killed.Add(1)
			m.server.Kick(agent)
		})
	}
	if got := <-m.outcome("GET", nil); !strings.HasPrefix(got, "502 ") {
		t.Error(got)
	}
	if n := killed.Load(); n != 2 {
		t.Errorf("%d members are lost", n)
	}
}

// The same client from another place takes over from its own session, and from no other client.
func TestGroupTakeover(t *testing.T) {
	m := newMembers(t, &Server{})
	entered := make(chan string, 8)
	other := m.stuck("other", entered)
	m.joins("other", other.serve)
	under := m.under(other)
	m.joins("one", says("before"))
	m.joins("one", says("after"))
	for range 6 {
		if _, body := m.Get("example.com", "/"); body != "after" {
			t.Error(body)
		}
	}
	other.free()
	for _, r := range under {
		if got := <-r; got != "200 other" {
			t.Error(got)
		}
	}
	if s := m.server.Stats(); s.Takeovers != 1 || s.Sessions != 2 || s.Groups[0].Members != 2 {
		t.Errorf("%+v", s)
	}
}

// A member that leaves in order finishes its requests, and gets no new ones.
func TestGroupDrain(t *testing.T) {
	m := newMembers(t, &Server{})
	entered := make(chan string, 8)
	leaving := m.stuck("leaving", entered)
	_, stop := m.joins("leaving", leaving.serve)
	under := m.under(leaving)
	m.joins("other", says("other"))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	for range 50 {
		if res, body := m.Do(m.Request("POST", "example.com", "/", strings.NewReader("order"))); body != "other" {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
	}
	leaving.free()
	for _, r := range under {
		if got := <-r; got != "200 leaving" {
			t.Error(got)
		}
	}
	<-stopped
}

// A request that a member refuses before it had any effect is sent to another member at once.
func TestGroupOfWhichOneRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		w    client.Tunnel
		hold bool // it has something to do already
	}{
		"its target is down": {client.Tunnel{Target: "127.0.0.1:1"}, false},
		"it is full":         {client.Tunnel{MaxInflight: 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMembers(t, &Server{})
			entered := make(chan string, 8)
			busy := m.stuck("busy", entered)
			service := httptest.NewServer(http.HandlerFunc(busy.serve))
			defer service.Close()
			defer busy.free()
			c.w.Protocol, c.w.Host, c.w.Group = tunnel.HTTP, "example.com", m.group
			if c.w.Target == "" {
				c.w.Target = service.Listener.Addr().String()
			}
			one, _ := m.ask("one", c.w)
			m.bound(one)
			under := make(chan string, 1)
			if c.hold {
				under = m.outcome("GET", nil)
				<-entered
			}
			other := m.stuck("other", entered)
			m.joins("other", other.serve)
			var results []chan string
			for range 20 { // the other one has more to do with each
				results = append(results, m.outcome("POST", nil))
				if got := <-entered; got != "other" {
					t.Error(got)
				}
			}
			other.free()
			for _, r := range results {
				if got := <-r; got != "200 other" {
					t.Error(got)
				}
			}
			busy.free()
			if c.hold {
				<-under
			}
			if s := m.server.Stats(); s.Resent == 0 || len(s.Refused) > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// When all refuse it is one refusal, of the best reason that there is.
func TestGroupRefusesAsOne(t *testing.T) {
	m := newMembers(t, &Server{Limits: tunnel.Limits{TunnelRequests: 1, Queue: 1}})
	entered := make(chan string, 8)
	one, two := m.stuck("one", entered), m.stuck("two", entered)
	m.joins("one", one.serve)
	m.joins("two", two.serve)
	under := []chan string{m.outcome("GET", nil), m.outcome("GET", nil)}
	if a, b := <-entered, <-entered; a == b {
		t.Errorf("two visitors at %s", a)
	}
	down, _ := m.ask("down", client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web", Target: "127.0.0.1:1"})
	m.bound(down)
	for range 3 { // until it has reported that its target is down
		m.Get("example.com", "/")
	}
	before := m.server.Stats()
	res, _ := m.Get("example.com", "/")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	now := m.server.Stats()
	if now.Refused["overloaded"]+now.Refused["hint_full"] != before.Refused["overloaded"]+before.Refused["hint_full"]+1 || m.server.Held()[0].Refused == 0 {
		t.Errorf("%v, and then %v", before.Refused, now.Refused)
	}
	one.free()
	two.free()
	for _, r := range under {
		<-r
	}
}

// The policy counts for each member and each visitor.
func TestGroupPolicy(t *testing.T) {
	var revoked atomic.Int32
	m := newMembers(t, &Server{Policy: tunnel.PolicyFunc(func(identity string, b tunnel.Binding) error {
		if n := revoked.Load(); n == 2 || n == 1 && identity == "one" {
			return errors.New("not any more")
		}
		return nil
	})})
	m.joins("one", says("one"))
	m.joins("two", says("two"))
	revoked.Store(1)
	for range 6 {
		if _, body := m.Get("example.com", "/"); body != "two" {
			t.Error(body)
		}
	}
	revoked.Store(2)
	if res, _ := m.Get("example.com", "/"); res.StatusCode != 404 {
		t.Error(res.StatusCode)
	}
	if n := m.server.Stats().Refused["denied"]; n != 1 {
		t.Errorf("%d denials are counted", n)
	}
}

// Each member has its own user and password: visitors with those of one member are served by it.
func TestGroupPasswords(t *testing.T) {
	m := newMembers(t, &Server{})
	for _, agent := range []string{"one", "two"} {
		service := httptest.NewServer(says(agent))
		t.Cleanup(service.Close)
		c, _ := m.ask(agent, client.Tunnel{Protocol: tunnel.HTTP, Host: "example.com", Group: "web", Auth: "user:" + agent, Target: service.Listener.Addr().String()})
		m.bound(c)
	}
	for password, want := range map[string]string{"one": "one", "two": "two", "three": "401"} {
		for range 4 {
			r := m.Request("GET", "example.com", "/", nil)
			r.SetBasicAuth("user", password)
			if res, body := m.Do(r); body != want && fmt.Sprint(res.StatusCode) != want {
				t.Errorf("%s: %d %s", password, res.StatusCode, body)
			}
		}
	}
}

// A group may shrink and grow, and the name may pass to another group when no other client is a
// member.
func TestGroupChanges(t *testing.T) {
	m := newMembers(t, &Server{Limits: tunnel.Limits{Lease: 100 * time.Millisecond}})
	_, stop := m.joins("one", says("one"))
	m.joins("two", says("two"))
	stop()
	m.Eventually("one is a member", func() bool { return len(m.server.Held()) == 1 })
	m.group = "new"
	m.joins("two", says("two, new"))
	if s := m.server.Stats(); len(s.Groups) != 1 || s.Groups[0] != (GroupStats{"new", 1, 1, 1}) {
		t.Errorf("%+v", s.Groups)
	}
	m.joins("one", says("one, new"))
	got := map[string]bool{}
	for range 4 {
		_, body := m.Get("example.com", "/")
		got[body] = true
	}
	if !got["one, new"] || !got["two, new"] {
		t.Error(got)
	}
}

// A group has so many members and no more.
func TestGroupIsBounded(t *testing.T) {
	s := &Server{Policy: everybody}
	s.init()
	defer s.Close()
	ask := &message.BindAsk{ID: 1, Protocol: tunnel.HTTP, Host: "example.com", Group: "web"}
	b, err := ask.Binding()
	if err != nil {
		t.Fatal(err)
	}
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	for i := range maxMembers + 1 {
		x := &session{server: s, identity: fmt.Sprint(i), leases: map[uint16]*lease{}}
		_, err = s.registry.lease(x, ask, b)
		if (err != nil) != (i == maxMembers) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if !errors.Is(err, tunnel.ErrOverloaded) {
		t.Error(err)
	}
}
