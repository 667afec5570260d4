package httpapi

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/keyring"
)

// browser is a client that keeps cookies and follows no redirect.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	c := &http.Client{Jar: jar, Transport: new(http.Transport), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// A browser without a key gets a page that asks for it, and exchanges the key for a cookie, which
// scripts and other sites do not get, and which ends with the key.
func TestBrowserSessions(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	must(t, ring.Add(keyring.Key{Name: "viewer", SHA256: keyring.DigestOf("v"), Verbs: []string{"lookup"}, Sets: []string{"squares"}}))
	secret := []byte("of the sessions")
	tw := newTown(t, options{config: func(c *Config) { c.Keys, c.KeyRequired, c.SessionSecret = ring, true, secret }})
	b := browser(t)
	ask := func(path string, headers ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tw.url+path, nil)
		must(t, err)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := b.Do(req)
		must(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	login := func(key string, headers ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tw.url+"/v1/session", strings.NewReader(url.Values{"key": {key}}.Encode()))
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := b.Do(req)
		must(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	if res := ask("/", "Accept", "text/html"); res.StatusCode != 401 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || res.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	if res := login("wrong"); res.StatusCode != 401 || len(res.Cookies()) != 0 {
		t.Errorf("%s %v", res.Status, res.Cookies())
	}
	if res := login("v", "Origin", "https://elsewhere.example"); res.StatusCode != 403 {
		t.Errorf("a page elsewhere: %s", res.Status)
	}
	res := login("v")
	if res.StatusCode != 303 || res.Header.Get("Location") != "/" || len(res.Cookies()) != 1 {
		t.Fatalf("%s %v", res.Status, res.Cookies())
	}
	if c := res.Cookies()[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("%+v", c)
	}
	if res := ask("/v1/sets"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if res := ask("/v1/keys"); res.StatusCode != 403 {
		t.Error(res.Status)
	}
	told := ask("/v1/session")
	if text, err := io.ReadAll(told.Body); err != nil || told.StatusCode != 200 || string(text) != `{"name":"viewer","verbs":["lookup"],"sets":["squares"]}`+"\n" {
		t.Errorf("%s %s %v", told.Status, text, err)
	}
	cookie := res.Cookies()[0]
	forged := *cookie
	forged.Value = "AAAA" + forged.Value[4:]
	other := browser(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tw.url+"/v1/sets", nil)
	must(t, err)
	req.AddCookie(&http.Cookie{Name: cookie.Name, Value: forged.Value})
	bad, err := other.Do(req)
	must(t, err)
	_ = bad.Body.Close()
	if bad.StatusCode != 401 {
		t.Errorf("a forged cookie: %s", bad.Status)
	}
	// Another process with the secret knows the session, one without does not.
	for _, c := range []struct {
		secret []byte
		want   int
	}{{secret, 200}, {nil, 401}} {
		again := newTown(t, options{config: func(o *Config) { o.Keys, o.KeyRequired, o.SessionSecret = ring, true, c.secret }})
		if r := again.get("/v1/sets", "Cookie", cookie.Name+"="+cookie.Value); r.status != c.want {
			t.Errorf("after a restart: %d, want %d", r.status, c.want)
		}
	}
	must(t, ring.Edit("viewer", func(k *keyring.Key) error { k.SHA256 = keyring.DigestOf("w"); return nil }))
	if res := ask("/v1/sets"); res.StatusCode != 401 {
		t.Errorf("a session of an old secret: %s", res.Status)
	}
	login("w")
	if res := ask("/v1/sets"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	req, err = http.NewRequestWithContext(t.Context(), http.MethodDelete, tw.url+"/v1/session", nil)
	must(t, err)
	gone, err := b.Do(req)
	must(t, err)
	_ = gone.Body.Close()
	if res := ask("/v1/sets"); gone.StatusCode != 204 || res.StatusCode != 401 {
		t.Errorf("%s, then %s", gone.Status, res.Status)
	}
}

// A page that was left open asks on with the session of a key that has ended. That is no guess, and
// other clients at its address are not paused.
func TestEndedSessionIsNoGuess(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	must(t, ring.Add(keyring.Key{Name: "viewer", SHA256: keyring.DigestOf("v"), Verbs: []string{"lookup"}}))
	g := newGate(&Config{Keys: ring, KeyRequired: true})
	ask := func(name, value string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/sets", nil)
		r.RemoteAddr = "192.0.2.1:5"
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		g.judge(w, r)
		return w.Code
	}
	session := sessionCookie + "=" + g.sessions.cookie("viewer", seal(keyring.DigestOf("v")), time.Now().Add(time.Hour))
	if got := ask("Cookie", session); got != 200 {
		t.Fatalf("a session: %d", got)
	}
	must(t, ring.Edit("viewer", func(k *keyring.Key) error { k.SHA256 = keyring.DigestOf("w"); return nil }))
	for range 20 {
		if got := ask("Cookie", session); got != 401 {
			t.Fatalf("a session of an old secret: %d", got)
		}
	}
	if got := ask("Authorization", "Bearer w"); got != 200 {
		t.Errorf("another client at its address: %d", got)
	}
	for range 5 {
		ask("Authorization", "Bearer x")
	}
	if got := ask("Cookie", session); got != 429 {
		t.Errorf("after guesses: %d", got)
	}
}

// Pages of a configured origin may read answers with a key and change things; those of others may
// not.
func TestOtherOrigins(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Token, c.CORSOrigins = "t", []string{"https://map.example"} }})
	for origin, want := range map[string]string{"https://map.example": "https://map.example", "https://evil.example": ""} {
		r := tw.get("/v1/search?lon=1&lat=1", "Origin", origin, "Authorization", "Bearer t")
		if got := r.header.Get("Access-Control-Allow-Origin"); r.status != 200 || got != want || r.header.Get("Vary") != "Origin" || r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", origin, r.status, r.header)
		}
		r = tw.send(request{method: http.MethodOptions, path: "/v1/positions", headers: []string{"Origin", origin, "Access-Control-Request-Method", "POST"}})
		if allowed := r.status == http.StatusNoContent && strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization"); allowed != (want != "") {
			t.Errorf("%s: %d %v", origin, r.status, r.header)
		}
		r = tw.post("/v1/positions", `{"id":"a","lon":1,"lat":2}`, "Origin", origin, "Authorization", "Bearer t")
		if ok := r.status == 200; ok != (want != "") {
			t.Errorf("%s: %d %s", origin, r.status, r.body)
		}
	}
}

// The page that asks for a key leads to the page that was asked for, and to no other server.
func TestLoginLeadsBack(t *testing.T) {
	for target, want := range map[string]string{
		"/rules?rule=a%20b": "/rules?rule=a%20b", "/": "/", "": "/", "rules": "/", "//evil.example": "/", "https://evil.example/": "/",
		`/\evil.example`: "/", "/\t/evil.example": "/", "javascript:alert(1)": "/", "/" + strings.Repeat("a", maxNext): "/",
	} {
		if got := localPage(target); got != want {
			t.Errorf("%q leads to %q, not %q", target, got, want)
		}
	}
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	must(t, ring.Add(keyring.Key{Name: "viewer", SHA256: keyring.DigestOf("v"), Verbs: []string{"lookup"}}))
	tw := newTown(t, options{config: func(c *Config) { c.Keys, c.KeyRequired = ring, true }})
	if r := tw.get(`/rules?q="><b>`, "Accept", "text/html"); r.status != 401 || !strings.Contains(string(r.body), `name="next" value="/rules?q=&#34;&gt;&lt;b&gt;"`) {
		t.Errorf("%d: %s", r.status, r.body)
	}
	res, err := browser(t).PostForm(tw.url+"/v1/session", url.Values{"key": {"v"}, "next": {"/rules?rule=a"}})
	must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != 303 || res.Header.Get("Location") != "/rules?rule=a" {
		t.Errorf("%s, to %q", res.Status, res.Header.Get("Location"))
	}
}
