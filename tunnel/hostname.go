package tunnel

import (
	"fmt"
	"net"
	"strings"
)

// hostName is the form in which a host is bound, looked up and authorised: lower
// case, without port and without the dot of the root. There is no other way to get one.
func hostName(host string) (string, error) {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > maxServerName || strings.Contains(name, "..") || name[0] == '.' {
		return "", fmt.Errorf("host %.60q", host)
	}
	for i := range len(name) {
		switch c := name[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', c == '.', c == '-', c == '_', c == ':':
		default:
			return "", fmt.Errorf("host %.60q", host)
		}
	}
	return name, nil
}

// climbs says whether a path may mean something above where it begins, for
// whoever takes it apart: it has a segment "..", written in any way.
func climbs(path string) bool {
	if !strings.Contains(path, "..") && !strings.Contains(path, "%") {
		return false
	}
	path, _, _ = strings.Cut(path, "?")
	plain := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/").Replace(path)
	for segment := range strings.SplitSeq(plain, "/") {
		if segment, _, _ = strings.Cut(segment, ";"); segment == ".." {
			return true
		}
	}
	return false
}
