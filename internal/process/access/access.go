// Package access checks the token of HTTP requests: "Authorization: Bearer TOKEN", or the password
// of Basic authentication for clients that cannot send a bearer token.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Token is the secret that clients must send. It keeps only a digest. The zero Token admits every
// request.
type Token struct {
	digest [sha256.Size]byte
	set    bool
}

// NewToken returns a Token for text. The empty text requires nothing.
func NewToken(text string) Token {
	return Token{digest: sha256.Sum256([]byte(text)), set: text != ""}
}

// Required reports whether requests must carry the token.
func (t Token) Required() bool { return t.set }

// Allows reports whether the request carries the token.
func (t Token) Allows(r *http.Request) bool { return t.Admits(r.Header.Get("Authorization")) }

// Admits reports whether an Authorization header carries the token. It compares digests, which all
// have one length, so its duration reveals neither the content nor the length of the token.
func (t Token) Admits(authorization string) bool {
	if !t.set {
		return true
	}
	secret, ok := Secret(authorization)
	return t.Is(secret) && ok
}

// Is reports whether a secret is the token. The zero Token is none.
func (t Token) Is(secret string) bool {
	digest := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 && t.set
}

// Secret returns the secret of an Authorization header: a bearer token, or the password of Basic
// authentication.
func Secret(authorization string) (secret string, ok bool) {
	scheme, secret, ok := strings.Cut(authorization, " ")
	if strings.EqualFold(scheme, "Bearer") {
		return secret, ok
	}
	basic := http.Request{Header: http.Header{"Authorization": {authorization}}}
	_, secret, ok = basic.BasicAuth()
	return secret, ok
}

// Challenge is the value of the header WWW-Authenticate in a 401 response: Bearer, then Basic.
var Challenge = []string{`Bearer realm="paddock"`, `Basic realm="paddock", charset="UTF-8"`}

// LocalName reports whether the host of a request, with or without a port, is an IP address or
// localhost. A service without credentials answers for no other name: a web page whose name
// resolves to this machine (DNS rebinding) would be of the service's own origin. An empty host is
// accepted.
func LocalName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
