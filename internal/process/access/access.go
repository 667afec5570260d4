// Package access decides whether an HTTP request brings the token that a
// service asks for: as "Authorization: Bearer TOKEN", or as the password of
// Basic, for clients and people that know no other way.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Token is what clients must bring. It keeps only a digest. The zero Token asks
// for nothing.
type Token struct {
	digest [sha256.Size]byte
	set    bool
}

// NewToken returns the token that is this text; an empty text asks for nothing.
func NewToken(text string) Token {
	return Token{digest: sha256.Sum256([]byte(text)), set: text != ""}
}

// Required reports whether clients must bring anything.
func (t Token) Required() bool { return t.set }

// Allows reports whether the request brings the token.
func (t Token) Allows(r *http.Request) bool { return t.Admits(r.Header.Get("Authorization")) }

// Admits reports whether the field Authorization of a request brings the token.
// It compares digests: they are of equal length whatever was given, so the time
// that it takes tells neither content nor length.
func (t Token) Admits(authorization string) bool {
	if !t.set {
		return true
	}
	scheme, given, ok := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		basic := http.Request{Header: http.Header{"Authorization": {authorization}}}
		_, given, ok = basic.BasicAuth()
	}
	digest := sha256.Sum256([]byte(given))
	return ok && subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1
}

// Challenge tells the client how to authenticate: the values of the header
// WWW-Authenticate of a 401.
var Challenge = []string{`Bearer realm="paddock"`, `Basic realm="paddock", charset="UTF-8"`}

// LocalName reports whether the host of a request, with or without a port, is an
// address or localhost. A service without credentials answers for no other name: a
// web page whose name was made to resolve to this machine (DNS rebinding) would
// otherwise be of the service's own origin. An empty host is no name.
func LocalName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
