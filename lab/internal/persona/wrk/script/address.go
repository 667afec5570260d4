package script

import (
	"context"
	"net"
	"strconv"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// patience is how long names and connections may take.
const patience = 5 * time.Second

// lookup is wrk.lookup(host, service): the addresses of a name, host:port each.
func (s *state) lookup(l *lua.LState) int {
	addresses, err := resolve(l.CheckString(1), l.CheckString(2))
	if err != nil {
		l.RaiseError("wrk.lookup: %v", err)
	}
	t := l.NewTable()
	for _, a := range addresses {
		t.Append(lua.LString(a))
	}
	l.Push(t)
	return 1
}

func resolve(host, service string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	for i, ip := range found {
		found[i] = net.JoinHostPort(ip, strconv.Itoa(port))
	}
	return found, err
}

// connect is wrk.connect(addr): whether the address accepts a connection.
func (s *state) connect(l *lua.LState) int {
	c, err := net.DialTimeout("tcp", l.CheckString(1), patience)
	if err == nil {
		c.Close()
	}
	l.Push(lua.LBool(err == nil))
	return 1
}

// target is where the thread's connections go: to the first address of the URL's host,
// unless setup has said otherwise.
func (s *state) target(l *lua.LState) string {
	if s.addr != "" {
		return s.addr
	}
	u := s.of.url
	service := u.Port()
	if service == "" {
		service = u.Scheme
	}
	found, err := resolve(u.Hostname(), service)
	if err != nil {
		l.RaiseError("thread.addr: %v", err)
	}
	return found[0]
}
