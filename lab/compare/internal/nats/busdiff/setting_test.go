package busdiff

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sort"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"paddock/bus"
)

// Setting is how both servers are configured. Zeros are their defaults.
type Setting struct {
	Name                                string
	Token, User, Password               string
	MaxPayload, MaxControlLine, MaxSubs int
	MaxSubTokens                        int
	Users                               []bus.User
	NoAuthUser                          string
}

// Settings returns the settings of the servers.
func Settings() []Setting {
	return []Setting{
		{Name: "open"},
		{Name: "token", Token: "s3cret"},
		{Name: "user", User: "ann", Password: "s3cret"},
		{Name: "small", MaxPayload: 24, MaxControlLine: 96, MaxSubs: 3},
		{Name: "line", MaxControlLine: 48},
		{Name: "users", Users: users()},
		{Name: "guest", Users: users(), NoAuthUser: "ann", MaxSubTokens: 3},
		{Name: "responder", Users: []bus.User{responder("bob", 1), responder("eve", 2), responder("max", -1), {Name: "zoe", Password: password("zoe")}}},
	}
}

// users have permissions of each kind on the subjects that scripts use.
func users() []bus.User {
	filter := func(allow, deny []string) bus.SubjectPermission {
		return bus.SubjectPermission{Allow: allow, Deny: deny}
	}
	list := []bus.User{
		{Name: "ann", Permissions: &bus.Permissions{
			Publish:   filter([]string{"a.>", "foo", "_INBOX.*", "$JS.>"}, []string{"a.c", "a.*.c"}),
			Subscribe: filter([]string{"a.*", "foo", "_INBOX.>", "> qa", "*.b solo*"}, []string{"a.b", "foo qb"}),
		}},
		{Name: "bob", Permissions: &bus.Permissions{
			Publish:   filter(nil, []string{"foo.>", "b", "_INBOX.r.>"}),
			Subscribe: filter(nil, []string{"a.b", "x.> qb", "*.bar", "_GR_.>"}),
		}},
		{Name: "eve", Permissions: &bus.Permissions{
			Publish:   filter([]string{"*"}, nil),
			Subscribe: filter([]string{"foo.* qa", "a.> *", "b"}, []string{"> qb"}),
		}},
		{Name: "zoe"},
	}
	for i := range list {
		list[i].Password = password(list[i].Name)
	}
	return list
}

// password is another for each user: nats-server fills the guest's in for a client
// that begins without CONNECT, so that one with the same would need none.
func password(name string) string { return name + "'s s3cret" }

// responder publishes answers alone.
func responder(name string, most int) bus.User {
	return bus.User{Name: name, Password: password(name), Permissions: &bus.Permissions{
		Publish:        bus.SubjectPermission{Allow: []string{"a.b", "x.>"}, Deny: []string{"_INBOX.r.2"}},
		AllowResponses: &bus.ResponsePermission{Max: most},
	}}
}

// auth says whether CONNECT needs credentials.
func (s *Setting) auth() bool {
	return s.Token != "" || s.User != "" || len(s.Users) > 0 && s.NoAuthUser == ""
}

// queues reports whether queues may have several members: not where the permissions of a connection
// make its answer depend on chance.
func (s *Setting) queues() bool {
	for i := range s.Users {
		if p := s.Users[i].Permissions; p != nil && p.AllowResponses != nil {
			return false
		}
	}
	return true
}

// referenceUsers are the users in the reference's terms.
func (s *Setting) referenceUsers() (list []*server.User) {
	filter := func(f bus.SubjectPermission) *server.SubjectPermission {
		return &server.SubjectPermission{Allow: f.Allow, Deny: f.Deny}
	}
	for _, u := range s.Users {
		user := &server.User{Username: u.Name, Password: u.Password}
		if p := u.Permissions; p != nil {
			user.Permissions = &server.Permissions{Publish: filter(p.Publish), Subscribe: filter(p.Subscribe)}
			if r := p.AllowResponses; r != nil {
				user.Permissions.Response = &server.ResponsePermission{MaxMsgs: r.Max, Expires: r.Expires}
			}
		}
		list = append(list, user)
	}
	return list
}

const (
	startTime = 10 * time.Second
	// pingInterval keeps the servers' own PINGs out of the answers.
	pingInterval = time.Hour
	// closedRing is how many closed connections the reference remembers: some
	// scripts' worth.
	closedRing = 64
)

// broker is one of the two servers.
type broker interface {
	addr() string
	// reasons says why the given connections, which have all ended, were closed,
	// sorted. It is asked once after each script.
	reasons(cids []uint64) ([]string, error)
	stop()
}

// ours is package bus.
type ours struct {
	server *bus.Server
	before map[bus.CloseReason]uint64
}

func startOurs(s *Setting) (broker, error) {
	srv, err := bus.New(bus.Config{
		Port: -1, PingInterval: pingInterval,
		Token: s.Token, Username: s.User, Password: s.Password,
		MaxPayload: s.MaxPayload, MaxControlLine: s.MaxControlLine, MaxSubs: s.MaxSubs,
		MaxSubTokens: s.MaxSubTokens, Users: s.Users, NoAuthUser: s.NoAuthUser,
	})
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, err
	}
	return &ours{server: srv}, nil
}

func (o *ours) addr() string { return o.server.Addr().String() }

// reasons are known by the counters alone: one script at a time is played.
func (o *ours) reasons(cids []uint64) ([]string, error) {
	now := o.server.Stats().Closed
	var list []string
	for reason, n := range now {
		for range n - o.before[reason] {
			list = append(list, reason.String())
		}
	}
	o.before = now
	sort.Strings(list)
	if len(list) != len(cids) {
		return nil, fmt.Errorf("busdiff: paddock closed %d connections of %d", len(list), len(cids))
	}
	return list, nil
}

func (o *ours) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	o.server.Shutdown(ctx) //nolint:errcheck // the process is about to forget it
}

// reference is nats-server.
type reference struct{ server *server.Server }

// startReference leaves out the system account: with it, subscribers to > hear of
// connections that could not authenticate, some time later.
func startReference(s *Setting) (broker, error) {
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		PingInterval: pingInterval, DisableShortFirstPing: true, MaxClosedClients: closedRing, NoSystemAccount: true,
		Authorization: s.Token, Username: s.User, Password: s.Password,
		MaxPayload: int32(s.MaxPayload), MaxControlLine: int32(s.MaxControlLine), MaxSubs: s.MaxSubs,
		MaxSubTokens: uint8(s.MaxSubTokens), Users: s.referenceUsers(), NoAuthUser: s.NoAuthUser,
	})
	if err != nil {
		return nil, err
	}
	go srv.Start()
	if !srv.ReadyForConnections(startTime) {
		return nil, errors.New("busdiff: nats-server does not start")
	}
	return &reference{server: srv}, nil
}

func (r *reference) addr() string { return r.server.Addr().(*net.TCPAddr).String() }

// reasons waits until all are in the server's list: they enter it some time after
// the client has seen the end.
func (r *reference) reasons(cids []uint64) ([]string, error) {
	want := make(map[uint64]bool, len(cids))
	for _, cid := range cids {
		want[cid] = true
	}
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); {
		got, err := r.server.Connz(&server.ConnzOptions{State: server.ConnClosed, Limit: closedRing})
		if err != nil {
			return nil, err
		}
		var list []string
		for _, conn := range got.Conns {
			if want[conn.Cid] {
				list = append(list, conn.Reason)
			}
		}
		if len(list) == len(cids) {
			sort.Strings(list)
			return list, nil
		}
		<-time.After(20 * time.Microsecond)
	}
	return nil, errors.New("busdiff: nats-server does not list its closed connections")
}

func (r *reference) stop() {
	r.server.Shutdown()
	r.server.WaitForShutdown()
}
