package platform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"

	"paddock/internal/platform"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
	"paddock/wire"
)

// guarded is a platform that asks for keys. It has two sets, east and west, and two fleets, acme
// and beta, each with one object in a fence of each set.
type guarded struct {
	*running
	admin string
}

func startGuarded(t *testing.T, change ...func(*config.Config)) *guarded {
	cfg := config.Default()
	cfg.Access.Required = true
	cfg.Data.Dir, cfg.Journal.MinFree = t.TempDir(), 0
	for _, f := range change {
		f(cfg)
	}
	g := &guarded{}
	g.running = startWith(t, platform.Options{Config: cfg, FirstKey: func(secret string) { g.admin = secret }})
	if g.admin == "" {
		t.Fatal("there is no first key")
	}
	for _, set := range []string{"east", "west"} {
		g.must(g.admin, http.MethodPut, "v1/sets/"+set, `{"type":"FeatureCollection","features":[{"type":"Feature","id":"f","properties":{},
			"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}]}`)
	}
	g.must(g.admin, http.MethodPost, "v1/positions", `[{"fleet":"acme","id":"o","lon":2,"lat":2,"t":"2026-01-01T00:00:00Z"},
		{"fleet":"beta","id":"o","lon":2,"lat":2,"t":"2026-01-01T00:00:00Z"}]`)
	g.must(g.admin, http.MethodPost, "v1/positions", `[{"fleet":"acme","id":"o","lon":0.5,"lat":0.5,"t":"2026-01-01T00:01:00Z"},
		{"fleet":"beta","id":"o","lon":0.5,"lat":0.5,"t":"2026-01-01T00:01:00Z"}]`)
	return g
}

// key adds a key and returns its secret.
func (g *guarded) key(name string, verbs, fleets, sets []string) string {
	g.t.Helper()
	body, _ := json.Marshal(map[string]any{"name": name, "verbs": verbs, "fleets": fleets, "sets": sets})
	var added struct{ Secret string }
	if err := json.Unmarshal([]byte(g.must(g.admin, http.MethodPost, "v1/keys", string(body))), &added); err != nil || added.Secret == "" {
		g.t.Fatal(err)
	}
	return added.Secret
}

// http makes a request with a key.
func (g *guarded) http(key, method, path, body string, headers ...string) (status int, answer string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.URL()+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (g *guarded) must(key, method, path, body string) string {
	g.t.Helper()
	status, answer := g.http(key, method, path, body)
	if status >= 300 {
		g.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// bus connects with a key.
func (g *guarded) bus(name, key string) *nats.Conn {
	g.t.Helper()
	nc, err := nats.Connect("nats://"+g.BusAddr().String(), nats.Token(key), nats.NoReconnect(), nats.CustomInboxPrefix(busapi.InboxPrefix(name)),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	g.t.Cleanup(nc.Close)
	return nc
}

// wire connects with a key.
func (g *guarded) wire(name, key string) *wire.Conn {
	g.t.Helper()
	c, err := wire.Dial(g.t.Context(), "tcp", g.WireAddr().String(), &wire.Config{Auth: wire.TokenAuth(name, []byte(key))})
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	return c
}

// attempt is a use of an interface. It names a fleet and a set, or neither: then it is about all of
// them. It returns whether it was allowed, and what it has told.
type attempt struct {
	name       string
	verbs      []string // one of which it takes
	fleet, set string
	do         func(g *guarded, k *holder) (allowed bool, told string)
	tells      string // what an answer about all of them names: sets, or all: fleets too
}

// holder is a key as a client has it.
type holder struct {
	name, secret        string
	verbs, fleets, sets []string

	nc   *nats.Conn
	wire *wire.Conn
}

func (k *holder) may(a *attempt) bool {
	has := slices.Contains(k.verbs, "admin") || slices.ContainsFunc(a.verbs, func(v string) bool { return slices.Contains(k.verbs, v) })
	return has && permits(k.fleets, a.fleet) && permits(k.sets, a.set)
}

func permits(limit []string, name string) bool {
	return len(limit) == 0 || name == "" || slices.Contains(limit, name)
}

// byHTTP is an attempt over HTTP.
func byHTTP(method, path, body string) func(*guarded, *holder) (bool, string) {
	return func(g *guarded, k *holder) (bool, string) {
		status, answer := g.http(k.secret, method, strings.ReplaceAll(path, "KEY", k.name), strings.ReplaceAll(body, "KEY", k.name))
		return allowed(g.t, method+" "+path, k, status, answer), answer
	}
}

func allowed(t *testing.T, what string, k *holder, status int, answer string) bool {
	t.Helper()
	switch {
	case status < 300, status == http.StatusNotFound:
		return true
	case status == http.StatusForbidden:
		return false
	case strings.Contains(answer, "the key is not for the fleet"): // of each position
		return false
	}
	t.Errorf("%s, %s: %d %s", what, k.name, status, answer)
	return false
}

// onBus reports whether the bus permits what do sends: a refusal comes before the answer to a ping.
func (k *holder) onBus(t *testing.T, do func() error) bool {
	t.Helper()
	before := k.nc.LastError()
	err := do()
	if err == nil {
		err = k.nc.Flush()
	}
	if err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	now := k.nc.LastError()
	if now != before && !errors.Is(now, nats.ErrPermissionViolation) {
		t.Errorf("%s: %v", k.name, now)
	}
	return now == before
}

// request is an attempt over the bus that is answered.
func request(subject, body string) func(*guarded, *holder) (bool, string) {
	return func(g *guarded, k *holder) (bool, string) {
		inbox := k.nc.NewInbox()
		sub, err := k.nc.SubscribeSync(inbox)
		if err != nil {
			g.t.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		if !k.onBus(g.t, func() error {
			return k.nc.PublishRequest(strings.ReplaceAll(subject, "KEY", k.name), inbox, []byte(strings.ReplaceAll(body, "KEY", k.name)))
		}) {
			return false, ""
		}
		m, err := sub.NextMsg(patience)
		if err != nil {
			g.t.Fatalf("%s, %s: %v", subject, k.name, err)
		}
		switch code := m.Header.Get("Nats-Service-Error-Code"); code {
		case "":
			return !strings.Contains(string(m.Data), "the key is not for"), string(m.Data)
		case "403":
		default:
			g.t.Errorf("%s, %s: %s %s", subject, k.name, code, m.Data)
		}
		return false, ""
	}
}

// subscribing is an attempt to follow subjects of the bus.
func subscribing(subject string) func(*guarded, *holder) (bool, string) {
	return func(g *guarded, k *holder) (may bool, told string) {
		var sub *nats.Subscription
		may = k.onBus(g.t, func() (err error) {
			sub, err = k.nc.SubscribeSync(subject)
			return err
		})
		_ = sub.Unsubscribe()
		return may, ""
	}
}

func wireAllowed(t *testing.T, k *holder, err error) bool {
	t.Helper()
	e, ok := errors.AsType[*wire.Error](err)
	if err != nil && (!ok || e.Code != wire.PermissionDenied) {
		t.Errorf("%s: %v", k.name, err)
	}
	return err == nil
}

// stream reads a stream of events over HTTP from the oldest on, until it has told n events.
func stream(query string, n int) func(*guarded, *holder) (bool, string) {
	return func(g *guarded, k *holder) (bool, string) {
		ctx, cancel := context.WithTimeout(g.t.Context(), patience)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, g.URL()+"v1/events?format=ndjson&from=2000-01-01T00:00:00Z&event=enter"+query, nil)
		req.Header.Set("Authorization", "Bearer "+k.secret)
		res, err := g.client.Do(req)
		if err != nil {
			g.t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return false, ""
		}
		var told strings.Builder
		dec := json.NewDecoder(res.Body)
		for range events(k, n) {
			var e json.RawMessage
			if err := dec.Decode(&e); err != nil {
				g.t.Fatalf("%s: %v", k.name, err)
			}
			told.Write(e)
		}
		return true, told.String()
	}
}

// socket reads a WebSocket of events from the oldest on, until it has told n events.
func socket(n int) func(*guarded, *holder) (bool, string) {
	return func(g *guarded, k *holder) (bool, string) {
		ctx, cancel := context.WithTimeout(g.t.Context(), patience)
		defer cancel()
		conn, res, err := websocket.Dial(ctx, g.URL()+"v1/events?from=2000-01-01T00:00:00Z&event=enter",
			&websocket.DialOptions{HTTPClient: g.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + k.secret}}})
		if err != nil {
			if res == nil || res.StatusCode != http.StatusForbidden {
				g.t.Errorf("%s: %v", k.name, err)
			}
			return false, ""
		}
		defer func() { _ = conn.CloseNow() }()
		var told strings.Builder
		for range events(k, n) {
			_, m, err := conn.Read(ctx)
			if err != nil {
				g.t.Fatalf("%s: %v", k.name, err)
			}
			told.Write(m)
		}
		return true, told.String()
	}
}

// events returns how many of n events, of each fleet in each set, a key sees.
func events(k *holder, n int) int {
	if len(k.fleets) > 0 {
		n /= 2
	}
	if len(k.sets) > 0 {
		n /= 2
	}
	return n
}

// followWire reads the events of a wire stream.
func followWire(filter string, n int) func(*guarded, *holder) (bool, string) {
	return func(g *guarded, k *holder) (bool, string) {
		s, err := k.wire.Open(g.t.Context(), wireapi.KindEvents, wire.OpenOptions{})
		if err != nil {
			g.t.Fatal(err)
		}
		defer s.Close()
		_ = s.SetReadDeadline(time.Now().Add(patience))
		if err := s.WriteMsg([]byte(filter)); err != nil {
			return wireAllowed(g.t, k, err), ""
		}
		var told strings.Builder
		for left := events(k, n); left > 0; {
			m, err := s.ReadMsg(nil)
			if err != nil {
				return wireAllowed(g.t, k, err), ""
			}
			if !bytes.Contains(m, []byte(`paddock.cursor`)) {
				told.Write(m)
				left--
			}
		}
		return true, told.String()
	}
}

// watch reads the first seconds of a dashboard's feed.
func watch(g *guarded, k *holder) (bool, string) {
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, g.URL()+"v1/live", &websocket.DialOptions{HTTPClient: g.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + k.secret}}})
	if err != nil {
		if res == nil || res.StatusCode != http.StatusForbidden {
			g.t.Errorf("%s: %v", k.name, err)
		}
		return false, ""
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	_, hello, err := conn.Read(ctx)
	var h struct{ Cursor string }
	if err == nil {
		err = json.Unmarshal(hello, &h)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	epoch, _, _ := strings.Cut(h.Cursor, "-")
	if err := conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"cursor":"%s-0"}`, epoch)); err != nil {
		g.t.Fatal(err)
	}
	var told strings.Builder
	for stats := 0; stats < 2; {
		_, m, err := conn.Read(ctx)
		if err != nil {
			g.t.Fatalf("%s: %v", k.name, err)
		}
		told.Write(m)
		if bytes.Contains(m, []byte(`"type":"stats"`)) {
			stats++
		}
	}
	return true, told.String()
}

func attempts() (all []attempt) {
	add := func(name string, verbs []string, fleet, set, tells string, do func(*guarded, *holder) (bool, string)) {
		all = append(all, attempt{name, verbs, fleet, set, do, tells})
	}
	lookup, objects, reads := []string{"lookup"}, []string{"objects:read"}, []string{"lookup", "sets:write"}
	const fence = `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}`
	for _, set := range []string{"east", "west"} {
		for _, path := range []string{"", "/fences", "/fences/f", "/policy", "/tiles/0/0/0"} {
			add("GET set"+path, reads, "", set, "", byHTTP("GET", "v1/sets/"+set+path, ""))
		}
		add("PUT set", []string{"sets:write"}, "", set, "", byHTTP("PUT", "v1/sets/"+set, `{"type":"FeatureCollection","features":[`+strings.Replace(fence, `"properties"`, `"id":"f","properties"`, 1)+`]}`))
		add("PUT fence", []string{"sets:write"}, "", set, "", byHTTP("PUT", "v1/sets/"+set+"/fences/f", fence))
		add("DELETE fence", []string{"sets:write"}, "", set, "", byHTTP("DELETE", "v1/sets/"+set+"/fences/none", ""))
		add("PUT policy", []string{"sets:write"}, "", set, "", byHTTP("PUT", "v1/sets/"+set+"/policy", `"raw"`))
		add("GET search", lookup, "", set, "", byHTTP("GET", "v1/search?lon=0.5&lat=0.5&set="+set, ""))
		add("GET nearest", lookup, "", set, "", byHTTP("GET", "v1/search?lon=0.5&lat=0.5&nearest=3&set="+set, ""))
		add("POST search", lookup, "", set, "", byHTTP("POST", "v1/search", `{"lon":0.5,"lat":0.5,"set":"`+set+`"}`))
		add("original search", lookup, "", set, "", byHTTP("GET", "fence/"+set+"/search?lat=0.5&lon=0.5", ""))
		add("original add", []string{"sets:write"}, "", set, "", byHTTP("POST", "fence/"+set+"/add", strings.Replace(fence, `"properties":{}`, `"id":"KEY","properties":{"id":"KEY"}`, 1)))
		add("bus search", lookup, "", set, "", request("paddock.search."+set, `{"lon":0.5,"lat":0.5}`))
		add("wire search", lookup, "", set, "", func(g *guarded, k *holder) (bool, string) {
			answer, err := k.wire.Call(g.t.Context(), wireapi.KindSearch, []byte(`{"lon":0.5,"lat":0.5,"set":"`+set+`"}`))
			return wireAllowed(g.t, k, err), string(answer)
		})
		add("objects in a set", objects, "", set, "", byHTTP("GET", "v1/objects?fleet=acme&set="+set, ""))
		all[len(all)-1].fleet = "acme"
		for _, fleet := range []string{"acme", "beta"} {
			rule := `{"set":"` + set + `","fleet":"` + fleet + `","detect":["dwell"],"dwell":{"after":"1h"}}`
			add("PUT rule", []string{"rules:write"}, fleet, set, "", byHTTP("PUT", "v1/rules/KEY-"+set+"-"+fleet, rule))
			add("bus rule", []string{"rules:write"}, fleet, set, "", request("paddock.rules.put.KEY-"+set+"-"+fleet, rule))
			add("bus events", []string{"events:read"}, fleet, set, "", subscribing("fence."+set+".*.*."+fleet+".*"))
			add("GET visits", objects, fleet, set, "", byHTTP("GET", "v1/visits?fleet="+fleet+"&set="+set, ""))
		}
	}
	for _, fleet := range []string{"acme", "beta"} {
		add("GET object", objects, fleet, "", "sets", byHTTP("GET", "v1/objects/o?fleet="+fleet, ""))
		for _, path := range []string{"/track", "/forecast"} {
			add("GET object"+path, objects, fleet, "", "", byHTTP("GET", "v1/objects/o"+path+"?fleet="+fleet, ""))
		}
		add("GET objects", objects, fleet, "", "sets", byHTTP("GET", "v1/objects?fleet="+fleet, ""))
		add("GET objects at", objects, fleet, "", "", byHTTP("GET", "v1/objects?at=2026-01-01T00:02:00Z&fleet="+fleet, ""))
		at := `"lon":0.5,"lat":0.5,"t":"2026-01-01T00:00:30Z"}` // late: it changes nothing
		add("POST positions", []string{"positions:write"}, fleet, "", "", byHTTP("POST", "v1/positions", `{"id":"o","fleet":"`+fleet+`",`+at))
		add("POST positions of a fleet", []string{"positions:write"}, fleet, "", "", byHTTP("POST", "v1/positions?fleet="+fleet, `{"id":"o",`+at))
		add("a phone", []string{"positions:write"}, fleet, "", "", byHTTP("GET", "in/osmand?id=o&lat=0.5&lon=0.5&timestamp=1767225630&fleet="+fleet, ""))
		add("bus positions", []string{"positions:write"}, fleet, "", "", request("pos."+fleet+".o", "{"+at))
		add("delete object", nil, fleet, "", "", byHTTP("DELETE", "v1/objects/none?fleet="+fleet, ""))
	}
	add("GET sets", reads, "", "", "sets", byHTTP("GET", "v1/sets", ""))
	add("search all", lookup, "", "", "sets", byHTTP("POST", "v1/search", `{"lon":0.5,"lat":0.5}`))
	add("wire search all", lookup, "", "", "sets", func(g *guarded, k *holder) (bool, string) {
		answer, err := k.wire.Call(g.t.Context(), wireapi.KindSearch, []byte(`{"lon":0.5,"lat":0.5}`))
		return wireAllowed(g.t, k, err), string(answer)
	})
	add("past events", []string{"events:read"}, "", "", "all", byHTTP("GET", "v1/events?wait=0&event=enter", ""))
	add("stream", []string{"events:read"}, "", "", "all", stream("", 4))
	add("live feed", []string{"events:read", "objects:read"}, "", "", "all", watch)
	add("wire events", []string{"events:read"}, "", "", "all", func(g *guarded, k *holder) (bool, string) {
		return followWire(`{"event":"enter","cursor":"`+g.oldest()+`"}`, 4)(g, k)
	})
	add("WebSocket", []string{"events:read"}, "", "", "all", socket(4))
	for _, path := range []string{"v1/keys", "v1/audit", "v1/tunnel", "v1/webhooks", "v1/sinks", "v1/doors", "metrics"} {
		add("GET "+path, nil, "", "", "", byHTTP("GET", path, ""))
	}
	add("backup", nil, "", "", "", byHTTP("POST", "v1/backup", ""))
	add("add a key", nil, "", "", "", byHTTP("POST", "v1/keys", `{"name":"by-KEY","verbs":["lookup"]}`))
	return all
}

// oldest returns the cursor before the first event.
func (g *guarded) oldest() string {
	req, _ := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.URL()+"v1/events?wait=0&limit=1", nil)
	req.Header.Set("Authorization", "Bearer "+g.admin)
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	epoch, _, _ := strings.Cut(res.Header.Get("Paddock-Cursor"), "-")
	return epoch + "-0"
}

var notLetters = regexp.MustCompile("[^a-z]+")

// Each key does at each interface what its verbs, fleets and sets permit, and nothing else. Answers
// about all fleets and sets have those of the key alone.
func TestKeysAtEachInterface(t *testing.T) {
	g := startGuarded(t)
	var holders []*holder
	verbs := []string{"positions:write", "events:read", "objects:read", "lookup", "sets:write", "rules:write"}
	for _, v := range verbs {
		for _, limits := range [][2][]string{{}, {{"acme"}, nil}, {nil, {"east"}}, {{"acme"}, {"east"}}} {
			name := notLetters.ReplaceAllString(fmt.Sprint(v, limits[0], limits[1]), "-")
			holders = append(holders, &holder{name: name, verbs: []string{v}, fleets: limits[0], sets: limits[1]})
		}
	}
	holders = append(holders, &holder{name: "all", verbs: verbs}, &holder{name: "root", verbs: []string{"admin"}})
	for _, k := range holders {
		k.secret = g.key(k.name, k.verbs, k.fleets, k.sets)
		k.nc = g.bus(k.name, k.secret)
		k.wire = g.wire(k.name, k.secret)
	}
	tried := map[bool]int{}
	for _, a := range attempts() {
		for _, k := range holders {
			got, told := a.do(g, k)
			want := k.may(&a)
			if tried[want]++; got != want {
				t.Errorf("%s (fleet %q, set %q) with %s: allowed %v, want %v: %.200s", a.name, a.fleet, a.set, k.name, got, want, told)
				continue
			}
			if got {
				checkTold(t, &a, k, told)
			}
		}
	}
	t.Logf("%d allowed and %d denied", tried[true], tried[false])
	positionsByWire(t, g, holders)
}

// checkTold checks that an answer names the fleets and sets of its key, and no others.
func checkTold(t *testing.T, a *attempt, k *holder, told string) {
	t.Helper()
	about := func(limit []string, what string, names ...string) {
		for _, name := range names {
			if has := strings.Contains(told, `"`+name+`"`); has != permits(limit, name) {
				t.Errorf("%s with %s tells of the %s %s: %v: %.2000s", a.name, k.name, what, name, has, told)
			}
		}
	}
	if a.tells != "" {
		about(k.sets, "set", "east", "west")
	}
	if a.tells == "all" {
		about(k.fleets, "fleet", "acme", "beta")
	}
}

// positionsByWire sends positions of both fleets with each key. A key without the verb loses its
// connection, so this comes last.
func positionsByWire(t *testing.T, g *guarded, holders []*holder) {
	for _, k := range holders {
		for n, fleet := range []string{"acme", "beta"} {
			id := "wire-" + k.name
			number, err := k.wire.PostAck(t.Context(), wireapi.KindUpdate, wireBody(t, fleet, id, place{lon: 3, lat: 3}, int64(1_767_225_700_000+n), false))
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				err = k.wire.WaitAcked(ctx, number)
				cancel()
			}
			a := &attempt{verbs: []string{"positions:write"}}
			if sent := k.may(a); (err == nil) != sent {
				t.Errorf("a position by wire with %s: %v", k.name, err)
			}
			a.fleet = fleet
			status, _ := g.http(g.admin, "GET", "v1/objects/"+id+"?fleet="+fleet, "")
			if got := status == http.StatusOK; got != k.may(a) {
				t.Errorf("a position of %s by wire with %s has arrived: %v", fleet, k.name, got)
			}
		}
	}
}

// A removed key ends what is served for it, at each interface. So does the end of its time.
func TestRevokedKeys(t *testing.T) {
	g := startGuarded(t, func(cfg *config.Config) { cfg.Wire.Token = "the operator's" })
	revoke := map[string]func(name string){
		"deleted": func(name string) { g.must(g.admin, http.MethodDelete, "v1/keys/"+name, "") },
		"renewed": func(name string) { g.must(g.admin, http.MethodPost, "v1/keys/"+name+"/secret", "") },
		"expired": func(name string) {
			g.must(g.admin, http.MethodPatch, "v1/keys/"+name, `{"expires":"`+time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)+`"}`)
		},
	}
	for name, end := range revoke {
		secret := g.key(name, []string{"events:read", "objects:read", "lookup", "positions:write"}, nil, nil)
		if name == "expired" {
			end(name) // the streams begin with the key that will expire
		}
		var ended sync.WaitGroup
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL()+"v1/events", nil)
		req.Header.Set("Authorization", "Bearer "+secret)
		res, err := g.client.Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(err, res)
		}
		ended.Go(func() { _, _ = io.Copy(io.Discard, res.Body); _ = res.Body.Close() })

		for _, path := range []string{"v1/live", "v1/events"} {
			conn, _, err := websocket.Dial(t.Context(), g.URL()+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + secret}}})
			if err != nil {
				t.Fatal(err)
			}
			ended.Go(func() {
				for {
					if _, _, err := conn.Read(t.Context()); err != nil {
						if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
							t.Errorf("the WebSocket of %s: %v", path, err)
						}
						return
					}
				}
			})
		}

		closed := make(chan struct{})
		nc, err := nats.Connect("nats://"+g.BusAddr().String(), nats.Token(secret), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() { <-closed })

		w := g.wire(name, secret)
		s, err := w.Open(t.Context(), wireapi.KindEvents, wire.OpenOptions{})
		if err == nil {
			err = s.WriteMsg([]byte(`{}`))
		}
		if err == nil {
			_, err = s.ReadMsg(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() {
			for {
				if _, err := s.ReadMsg(nil); err != nil {
					if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.Unauthenticated {
						t.Errorf("the wire stream: %v", err)
					}
					return
				}
			}
		})
		fast := g.plainConn(secret)
		if status := fast(); status != http.StatusOK {
			t.Errorf("%s: a look-up: %d", name, status)
		}
		if name != "expired" {
			end(name)
		}
		ended.Wait()
		if status := fast(); status != http.StatusUnauthorized {
			t.Errorf("%s: a look-up on a connection that was admitted: %d", name, status)
		}
		if status, _ := g.http(secret, http.MethodGet, "v1/sets", ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
		if _, err := nats.Connect("nats://"+g.BusAddr().String(), nats.Token(secret)); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: the bus: %v", name, err)
		}
		if _, err := g.wire(name, secret).Call(t.Context(), wireapi.KindSearch, []byte(`{"lon":0.5,"lat":0.5}`)); err == nil {
			t.Errorf("%s: wire lets it in", name)
		}
		if _, err := w.Call(t.Context(), wireapi.KindSearch, []byte(`{"lon":0.5,"lat":0.5}`)); err == nil {
			t.Errorf("%s: wire serves a connection that was admitted", name)
		}
		nc.Close()
	}
}

// plainConn returns a function that makes a look-up on one connection.
func (g *guarded) plainConn(secret string) func() int {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: patience}
	g.t.Cleanup(client.CloseIdleConnections)
	return func() int {
		req, _ := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.URL()+"v1/search?lon=0.5&lat=0.5", nil)
		req.Header.Set("Authorization", "Bearer "+secret)
		res, err := client.Do(req)
		if err != nil {
			g.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.StatusCode
	}
}

// Keys and the audit survive a restart. Each change has its entry, with the key that made it.
func TestAudit(t *testing.T) {
	cfg := config.Default()
	cfg.Access.Required = true
	cfg.Data.Dir, cfg.Journal.MinFree = t.TempDir(), 0
	g := &guarded{}
	o := platform.Options{Config: cfg, FirstKey: func(secret string) { g.admin = secret }}
	g.running = startWith(t, o)
	editor := g.key("editor", []string{"sets:write", "rules:write"}, nil, nil)
	const empty = `{"type":"FeatureCollection","features":[]}`
	g.must(editor, http.MethodPut, "v1/sets/east", empty)
	g.must(editor, http.MethodPut, "v1/sets/east", empty) // nothing changes
	g.must(editor, http.MethodPost, "fence/east/add", `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`)
	g.must(editor, http.MethodPut, "v1/sets/east/policy", `"raw"`)
	g.must(editor, http.MethodPut, "v1/rules/r", `{"set":"east","detect":["enter"]}`)
	g.http(editor, http.MethodPut, "v1/rules/bad", `{"set":"east","detect":["nothing"]}`)
	g.http(editor, http.MethodDelete, "v1/rules/none", "")
	nc := g.bus("editor", editor)
	if m, err := nc.Request("paddock.rules.delete.r", nil, patience); err != nil || m.Header.Get("Nats-Service-Error") != "" {
		t.Fatal(err, m)
	}
	g.must(g.admin, http.MethodDelete, "v1/keys/editor", "")
	g.signal()
	g.awaitEnd()

	first := g.admin
	o.FirstKey = func(string) { t.Error("there is another first key") }
	g.running = startWith(t, o)
	var page struct {
		Changes []struct{ By, Action, Object, From, Failed string }
		Next    string
	}
	if err := json.Unmarshal([]byte(g.must(first, http.MethodGet, "v1/audit", "")), &page); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range slices.Backward(page.Changes) {
		got = append(got, strings.Join([]string{c.By, c.Action, c.Object, c.Failed}, " "))
	}
	want := []string{
		"first start key.add administrator ", "administrator key.add editor ",
		"editor set.put east ", "editor set.put east ", "editor fence.add east ", "editor policy.put east ", "editor rule.put r ", "editor rule.delete r ",
		"administrator key.delete editor ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if status, _ := g.http(editor, http.MethodGet, "v1/sets", ""); status != http.StatusUnauthorized {
		t.Errorf("a removed key is valid after a restart: %d", status)
	}
	if err := json.Unmarshal([]byte(g.must(first, http.MethodGet, "v1/audit?by=editor&limit=2", "")), &page); err != nil || len(page.Changes) != 2 || page.Next == "" {
		t.Errorf("%v %+v", err, page)
	}
}

// Where nothing is required, a request without credentials may everything, one with a key what the
// key may, and one with another secret nothing.
func TestKeysOnLoopback(t *testing.T) {
	cfg := config.Default()
	cfg.Data.Dir = ""
	cfg.Access.Keys = []keyring.Key{{Name: "reader", SHA256: keyring.DigestOf("reader's"), Verbs: []string{"lookup"}}}
	g := &guarded{running: start(t, cfg, square(t))}
	if status, answer, _ := g.call(http.MethodGet, "v1/keys", "", nil); status != http.StatusOK || !strings.Contains(string(answer), `"file":true`) {
		t.Errorf("%d %s", status, answer)
	}
	for key, want := range map[string][2]int{"reader's": {200, 403}, "unknown": {401, 401}} {
		for i, path := range []string{"v1/sets", "v1/keys"} {
			if status, _ := g.http(key, http.MethodGet, path, ""); status != want[i] {
				t.Errorf("%s with %s: %d, want %d", path, key, status, want[i])
			}
		}
	}
	if status, _ := g.http("reader's", http.MethodGet, "v1/sets", "", "Host", "x"); status != http.StatusOK {
		t.Error(status)
	}
}
