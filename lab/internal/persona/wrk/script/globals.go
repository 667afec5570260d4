package script

import (
	"iter"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// setWrk makes the global wrk: the parts of a request, and the function that builds it.
func (s *state) setWrk() {
	u := s.of.url
	s.wrk = s.NewTable()
	headers := s.NewTable()
	for _, h := range s.of.header {
		headers.RawSetString(h.Name, lua.LString(h.Value))
	}
	for name, value := range map[string]lua.LValue{
		"scheme": lua.LString(u.Scheme), "host": lua.LString(u.Hostname()), "method": lua.LString("GET"),
		"path": lua.LString(u.RequestURI()), "headers": headers,
	} {
		s.wrk.RawSetString(name, value)
	}
	if port := u.Port(); port != "" {
		s.wrk.RawSetString("port", lua.LString(port))
	}
	s.set(s.wrk, map[string]lua.LGFunction{"format": s.format, "lookup": s.lookup, "connect": s.connect})
	s.SetGlobal("wrk", s.wrk)
	s.openThreads()
	s.openStats()
}

// value returns a Go value as a value of a type in the interpreter's registry.
func (s *state) value(v any, typeName string) lua.LValue {
	u := s.NewUserData()
	u.Value, u.Metatable = v, s.GetTypeMetatable(typeName)
	return u
}

// check returns argument i, which such a value has to be. Otherwise the script fails, and why says
// so.
func check[T any](l *lua.LState, i int, why string) T {
	v, ok := l.CheckUserData(i).Value.(T)
	if !ok {
		l.ArgError(i, why)
	}
	return v
}

// setRequest makes wrk.request, which gives the same text each time.
func (s *state) setRequest() error {
	s.Push(s.wrk.RawGetString("format"))
	if err := s.call("the request", s.of.limit, 0, 1); err != nil {
		return err
	}
	text := s.Get(-1)
	s.Pop(1)
	s.wrk.RawSetString("request", s.NewFunction(func(l *lua.LState) int {
		l.Push(text)
		return 1
	}))
	return nil
}

// or is an argument, or the field of wrk that takes its place.
func (s *state) or(l *lua.LState, i int, name string) lua.LValue {
	if v := l.Get(i); v != lua.LNil {
		return v
	}
	return s.wrk.RawGetString(name)
}

// format is wrk.format(method, path, headers, body): a request as it is sent. Nil arguments are
// taken from wrk. Host is always sent, and Content-Length if there is a body.
func (s *state) format(l *lua.LState) int {
	method, path, body := s.or(l, 1, "method"), s.or(l, 2, "path"), s.or(l, 4, "body")
	for i, v := range []lua.LValue{method, path, body} {
		if !lua.LVCanConvToString(v) && !(i == 2 && v == lua.LNil) {
			l.RaiseError("wrk.format: the %s is a %s", []string{"method", "path", "body"}[i], v.Type())
		}
	}
	headers, ok := s.or(l, 3, "headers").(*lua.LTable)
	if !ok {
		l.RaiseError("wrk.format: the headers are a %s", s.or(l, 3, "headers").Type())
	}
	b := append(s.scratch[:0], method.String()...)
	b = append(append(append(b, ' '), path.String()...), " HTTP/1.1\r\n"...)
	named := false
	for name, value := range entries(headers) {
		n := name.String()
		if strings.EqualFold(n, "Content-Length") {
			continue
		}
		named = named || strings.EqualFold(n, "Host")
		b = appendField(b, n, value.String())
	}
	if !named {
		b = appendField(b, "Host", s.hostName())
	}
	if body != lua.LNil {
		b = appendField(b, "Content-Length", strconv.Itoa(len(body.String())))
	}
	b = append(b, "\r\n"...)
	if body != lua.LNil {
		b = append(b, body.String()...)
	}
	s.scratch = b
	l.Push(lua.LString(b))
	return 1
}

// hostName is the Host of requests that do not say: that of wrk.headers, or of the URL.
func (s *state) hostName() string {
	name := s.of.url.Host
	if t, ok := s.wrk.RawGetString("headers").(*lua.LTable); ok {
		for k, v := range entries(t) {
			if strings.EqualFold(k.String(), "Host") {
				name = v.String()
			}
		}
	}
	return name
}

// entries yields the entries of a table, in the order in which they were added.
func entries(t *lua.LTable) iter.Seq2[lua.LValue, lua.LValue] {
	return func(yield func(k, v lua.LValue) bool) {
		for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
			if !yield(k, v) {
				return
			}
		}
	}
}

func appendField(b []byte, name, value string) []byte {
	return append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
}
