package monitordiff

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"paddock/bus"
	"paddock/bus/monitor"
)

const patience = 20 * time.Second

// broker is a server with its monitoring.
type broker struct {
	addr string
	web  http.Handler
}

const maxPayload = 1000

func ours(t *testing.T) broker {
	s, err := bus.New(bus.Config{Port: -1, ServerName: "same", MaxPayload: maxPayload, Users: []bus.User{{Name: "u", Password: "p", Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Deny: []string{"secret.*"}}}}}})
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(t.Context()) })
	return broker{s.Addr().String(), monitor.Handler(s, monitor.Options{Host: "127.0.0.1", Port: 8222})}
}

func reference(t *testing.T) broker {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
		ServerName: "same", MaxPayload: maxPayload,
		Users: []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"secret.*"}},
		}}},
		NoSystemAccount: true, NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the reference does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return broker{s.Addr().String(), s.HTTPHandler()}
}

func (b broker) ask(path string) (code int, body string) {
	rec := httptest.NewRecorder()
	b.web.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
	return rec.Code, rec.Body.String()
}

func (b broker) json(t *testing.T, path string) map[string]any {
	t.Helper()
	code, body := b.ask(path)
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil || code != 200 {
		t.Fatalf("%s: %d %v\n%s", path, code, err, body)
	}
	return v
}

// peer is a client on the level of bytes.
type peer struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (b broker) dial(t *testing.T, name, lines string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	p := &peer{conn, t, bufio.NewReader(conn)}
	p.sync(fmt.Sprintf("CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"user\":\"u\",\"pass\":\"p\",\"name\":%q,\"lang\":\"go\",\"version\":\"1.2\",\"protocol\":1}\r\n", name) + lines)
	return p
}

// sync sends lines and waits until they have been handled. It answers PINGs.
func (p *peer) sync(lines string) {
	p.t.Helper()
	io.WriteString(p, lines+"PING\r\n")
	for {
		line, err := p.r.ReadString('\n')
		switch {
		case err != nil:
			p.t.Fatal(err)
		case line == "PONG\r\n":
			return
		case line == "PING\r\n":
			io.WriteString(p, "PONG\r\n")
		}
	}
}

// play is the traffic after which the answers are compared: two clients that stay,
// one that breaks a limit, one that breaks off, one with a wrong password.
func play(t *testing.T, b broker) {
	first := b.dial(t, "first", "SUB orders.* 1\r\nSUB orders.> workers 2\r\nSUB limited 3\r\nUNSUB 3 5\r\nSUB gone 4\r\nUNSUB 4\r\n")
	second := b.dial(t, "second", "SUB _INBOX.x.* 7\r\n")
	second.sync("PUB orders.a 5\r\nhello\r\nPUB orders.a.b 2\r\nhi\r\nPUB limited 1\r\nx\r\nPUB nobody 4\r\nnone\r\n")
	second.sync("HPUB orders.h 12 15\r\nNATS/1.0\r\n\r\nabc\r\n")
	first.sync("PUB _INBOX.x.1 3\r\nyes\r\n")
	second.sync("PUB secret.x 3\r\nabc\r\n") // is refused, and has been received
	for range 2 {
		first.sync("")
	}
	large := b.dial(t, "large", "SUB a q 1\r\nSUB b 2\r\n")
	fmt.Fprintf(large, "PUB x %d\r\n", maxPayload+1)
	io.Copy(io.Discard, large.r)
	gone := b.dial(t, "gone", "SUB c 1\r\nPUB c 1\r\nx\r\n")
	gone.Close()
	stranger, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	stranger.SetDeadline(time.Now().Add(patience))
	io.WriteString(stranger, "CONNECT {\"user\":\"u\",\"pass\":\"wrong\",\"name\":\"stranger\"}\r\nPING\r\n")
	io.Copy(io.Discard, stranger)
	stranger.Close()
	for end := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
		z, open := b.json(t, "/connz?state=closed"), b.json(t, "/varz")
		if z["total"] == 3.0 && open["connections"] == 2.0 && open["subscriptions"] == 4.0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v ended, %v open, %v subscriptions", z["total"], open["connections"], open["subscriptions"])
		}
	}
}

// own are the fields that need not agree, each with its reason.
var own = map[string]string{
	"server_id": "random", "now": "time", "start": "time", "last_activity": "time", "stop": "time", "uptime": "time", "idle": "time",
	"rtt": "time", "config_load_time": "time", "update_time": "time", "port": "random", "http_port": "random",
	"version": "ours tells clients of an older release", "git_commit": "the product", "mem": "measured", "cpu": "measured",
	"system_account": "the reference runs without, to have no subscriptions of its own", "feature_flags": "of JetStream",
	"config_digest": "of the program", "http_req_stats": "asked before",
	"max_subscriptions": "there is a bound unless it is switched off",
	"num_cache":         "what is remembered is not counted", "cache_hit_rate": "how it is remembered differs",
	"num_matches": "the reference also looks up for what is its own", "max_fanout": "of what the cache holds there, of all there was here",
	"avg_fanout": "likewise", "num_inserts": "see num_matches", "num_removes": "see num_matches",
	"pending_bytes": "the last -ERR may be on its way",
	"name_tag":      "of accounts", "account_tag": "of accounts", "imports": "of accounts", "is_system": "of accounts",
}

// normalise removes the values that differ between servers, and sorts lists.
func normalise(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range own {
			delete(v, name)
		}
		for name, below := range v {
			v[name] = normalise(below)
		}
	case []any:
		for i := range v {
			v[i] = normalise(v[i])
		}
		sort.Slice(v, func(i, j int) bool { return fmt.Sprint(v[i]) < fmt.Sprint(v[j]) })
	}
	return v
}

func differences(path string, theirs, ours any) []string {
	a, isMap := theirs.(map[string]any)
	b, alsoMap := ours.(map[string]any)
	if isMap && alsoMap {
		var list []string
		names := map[string]bool{}
		for name := range a {
			names[name] = true
		}
		for name := range b {
			names[name] = true
		}
		for name := range names {
			list = append(list, differences(path+"."+name, a[name], b[name])...)
		}
		return list
	}
	c, isList := theirs.([]any)
	d, alsoList := ours.([]any)
	if isList && alsoList && len(c) == len(d) {
		var list []string
		for i := range c {
			list = append(list, differences(fmt.Sprintf("%s[%d]", path, i), c[i], d[i])...)
		}
		return list
	}
	if reflect.DeepEqual(theirs, ours) {
		return nil
	}
	return []string{fmt.Sprintf("%s: reference %v, ours %v", path, theirs, ours)}
}

func TestAnswersAreTheReferences(t *testing.T) {
	theirs, ours := reference(t), ours(t)
	play(t, theirs)
	play(t, ours)
	for path, into := range map[string]any{
		"/varz": new(server.Varz), "/routez": new(server.Routez), "/gatewayz": new(server.Gatewayz), "/leafz": new(server.Leafz),
		"/connz": new(server.Connz), "/connz?subs=1": new(server.Connz), "/connz?subs=detail&auth=1": new(server.Connz),
		"/connz?state=closed&subs=detail&auth=true": new(server.Connz), "/connz?state=closed&sort=stop": new(server.Connz),
		"/connz?state=any&user=u&auth=1": new(server.Connz), "/connz?sort=msgs_to&limit=1": new(server.Connz),
		"/connz?sort=bytes_from&offset=1": new(server.Connz), "/connz?cid=1&auth=1": new(server.Connz), "/connz?cid=99": new(server.Connz),
		"/connz?state=closed&sort=reason&limit=2": new(server.Connz), "/connz?sort=subs": new(server.Connz),
		"/subsz": new(server.Subsz), "/subsz?subs=1": new(server.Subsz), "/subsz?subs=1&test=orders.a": new(server.Subsz),
		"/subsz?subs=1&limit=1": nil, "/subsz?acc=none": new(server.Subsz),
		"/subscriptionsz?subs=true&offset=9": new(server.Subsz), "/accstatz": new(server.AccountStatz),
		"/accountz?acc=$G": new(server.Accountz), "/jsz": new(server.JSInfo), "/healthz": new(server.HealthStatus),
	} {
		want, got := theirs.json(t, path), ours.json(t, path)
		if into != nil {
			_, body := ours.ask(path)
			if err := json.Unmarshal([]byte(body), into); err != nil {
				t.Errorf("%s does not fit: %v", path, err)
			}
			if missing := Missing(reflect.TypeOf(into), any(got)); len(missing) > 0 {
				t.Errorf("%s: no %s", path, strings.Join(missing, ", "))
			}
		}
		if path == "/subsz?subs=1&limit=1" { // the order of subscriptions is not compared
			delete(want, "subscriptions_list")
			delete(got, "subscriptions_list")
		}
		list := differences(path, normalise(want), normalise(got))
		slices.Sort(list)
		for _, d := range list {
			t.Error(d)
		}
	}
}

func TestRefusalsAreTheReferences(t *testing.T) {
	theirs, ours := reference(t), ours(t)
	for _, path := range []string{
		"/connz?auth=x", "/connz?subs=x", "/connz?limit=x", "/connz?offset=1.5", "/connz?cid=-1", "/connz?state=half", "/connz?sort=x",
		"/connz?sort=stop", "/connz?sort=reason&state=any", "/connz?limit=99999999999999999999", "/subsz?subs=detail", "/subsz?test=a.*",
		"/subsz?test=a..b", "/subsz?offset=x", "/routez?subs=x", "/gatewayz?accs=x", "/gatewayz?subs=x", "/leafz?subs=x", "/accstatz?unused=x",
		"/accountz?acc=x", "/jsz?raft=x", "/jsz?limit=x", "/jsz?leader-only=1", "/healthz?js-enabled-only=x", "/healthz?details=x", "/healthz?js-enabled=1",
		"/healthz?stream=x", "/healthz?account=a&consumer=x", "/healthz?stream=x&details=1", "/ipqueuesz?all=x", "/ipqueuesz", "/raftz", "/nothing", "/varz/",
	} {
		wantCode, want := theirs.ask(path)
		if code, got := ours.ask(path); code != wantCode || got != want {
			t.Errorf("%s: reference %d %s, ours %d %s", path, wantCode, want, code, got)
		}
	}
}
