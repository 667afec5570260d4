package httpapi

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"paddock/internal/process/access"
	"paddock/internal/process/keyring"
)

const (
	// sessionCookie names the cookie of a session. A browser exchanges a key for it, so that no
	// script of a page holds the key.
	sessionCookie = "paddock_session"
	// sessionTime is the longest life of a session, after which the browser needs the key again.
	sessionTime = 12 * time.Hour
	maxLogin    = 4 << 10 // bytes of the form
	maxNext     = 2 << 10 // bytes of the page that it leads to
	// sessionPath takes the form.
	sessionPath = "/v1/session"
)

// sessions makes and reads cookies. A cookie holds the name of a key, the SHA-256 of the digest of
// its secret, and an end, under a MAC: so it is valid after a restart, and ends with the key.
type sessions struct{ secret []byte }

// newSessions returns sessions under a secret. Without one the sessions end with the process.
func newSessions(secret []byte) sessions {
	if len(secret) == 0 {
		secret = make([]byte, sha256.Size)
		_, _ = rand.Read(secret) // never fails
	}
	return sessions{secret}
}

// cookie returns the value for a key and the seal of its secret.
func (s sessions) cookie(name string, digest keyring.Digest, end time.Time) string {
	text := binary.BigEndian.AppendUint64(nil, uint64(end.Unix()))
	text = append(append(text, digest[:]...), name...)
	return base64.RawURLEncoding.EncodeToString(append(s.mac(text), text...))
}

func (s sessions) mac(text []byte) []byte {
	m := hmac.New(sha256.New, s.secret)
	m.Write(text)
	return m.Sum(nil)
}

// key returns the key of a request's session. ok reports whether there is a valid one.
func (s sessions) key(r *http.Request) (name string, digest keyring.Digest, ok bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return "", digest, false
	}
	value, err := base64.RawURLEncoding.DecodeString(c.Value)
	const head = 8 + sha256.Size
	if err != nil || len(value) < sha256.Size+head {
		return "", digest, false
	}
	mac, text := value[:sha256.Size], value[sha256.Size:]
	if !hmac.Equal(mac, s.mac(text)) || time.Now().Unix() >= int64(binary.BigEndian.Uint64(text)) {
		return "", digest, false
	}
	return string(text[head:]), keyring.Digest(text[8:head]), true
}

// postSession exchanges a key for a cookie, and shows the dashboard.
func (a *API) postSession(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	secret, next := strings.TrimSpace(r.PostFormValue("key")), localPage(r.PostFormValue("next"))
	found := a.gate.find(secret)
	switch a.gate.guard.Decide(r, secret != "", found != nil) {
	case access.Paused:
		writeLogin(w, http.StatusTooManyRequests, "Too many wrong keys came from your address: try again later.", next)
		return nil
	case access.Refused:
		writeLogin(w, http.StatusUnauthorized, "This is not a key of this server.", next)
		return nil
	}
	name := found.Name()
	if found == a.gate.operator {
		name = ""
	}
	end := time.Now().Add(sessionTime)
	c := newCookie(r, a.gate.sessions.cookie(name, seal(keyring.DigestOf(secret)), end))
	c.Expires = end
	http.SetCookie(w, c)
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// getSession tells the sender of a request what its key permits. Without fleets and sets the key is
// for all.
func (a *API) getSession(w http.ResponseWriter, r *http.Request) error {
	g := keyring.From(r.Context())
	return writeJSON(w, http.StatusOK, &keyJSON{Name: g.Name(), Verbs: g.Verbs().Names(), Fleets: g.Fleets(), Sets: g.Sets()})
}

// deleteSession ends the session of a browser.
func (a *API) deleteSession(w http.ResponseWriter, r *http.Request) error {
	c := newCookie(r, "")
	c.MaxAge = -1
	http.SetCookie(w, c)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func newCookie(r *http.Request, value string) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
}

// seal returns what a cookie holds of the digest of a secret: its own digest, because wire clients
// prove that they know the first one.
func seal(digest keyring.Digest) keyring.Digest { return sha256.Sum256(digest[:]) }

// asksForPage reports whether a browser wants to show the answer as a page.
func asksForPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// localPage returns the path and query of a page of this server, or "/" for anything that a browser
// could take for an address elsewhere.
func localPage(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || len(target) > maxNext ||
		!strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.ContainsAny(target, "\\\t\r\n") {
		return "/"
	}
	return target
}

// writeLogin answers with a page that asks for a key, and then shows the page next.
func writeLogin(w http.ResponseWriter, status int, note, next string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	page := strings.NewReplacer("NOTE", html.EscapeString(note), "NEXT", html.EscapeString(next)).Replace(loginPage)
	_, _ = w.Write([]byte(page)) // the client may be gone
}

const loginPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Paddock: key</title>
<style>
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:100vh;margin:0}
form{width:min(22rem,90vw);display:grid;gap:.75rem}
h1{font-size:1.25rem;margin:0}
p{margin:0}
input,button{font:inherit;padding:.5rem .75rem;border-radius:.4rem;border:1px solid GrayText}
.note{color:#c0392b;min-height:1.5em}
</style></head><body>
<form method="post" action="` + sessionPath + `">
<h1>Paddock</h1>
<p>This server asks for a key. Its administrator makes them: <code>paddock keys add</code>.</p>
<label for="key">Key</label>
<input type="hidden" name="next" value="NEXT">
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>Open</button>
<p class="note" role="alert">NOTE</p>
</form></body></html>
`
