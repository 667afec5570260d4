package http1

import (
	"net"
	"strings"
)

// WithScheme returns a URL with its scheme: http, where it has none.
func WithScheme(url string) string {
	scheme, _, found := strings.Cut(url, "://")
	if found && !strings.ContainsAny(scheme, "/?#") {
		return url
	}
	return "http://" + url
}

// Endpoint is where the service of a URL listens, as load.Plan has it, and whether it
// speaks TLS.
func Endpoint(url string) (address string, secure bool, err error) {
	u, err := parseURL(url)
	if err != nil {
		return "", false, err
	}
	secure = u.Scheme == "https"
	port := u.Port()
	switch {
	case port != "":
	case secure:
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}
