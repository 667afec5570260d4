// Package hostname normalises the names of hosts: lower case, IDNA as ASCII, without a port,
// without the dot of the root. All code that binds, authorises or routes by a name uses it, so that
// one text never counts as two names.
package hostname

import (
	"fmt"
	"net"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxLength bounds a name, RFC 1035 section 2.3.4; addresses are shorter.
const maxLength = 253

// Normalise returns the normal form of a host with or without a port: a name or an address.
func Normalise(host string) (string, error) {
	name := host
	if strings.IndexByte(name, ':') >= 0 {
		if h, _, err := net.SplitHostPort(name); err == nil {
			name = h
		}
	}
	name = strings.TrimSuffix(name, ".")
	if !isASCII(name) {
		var err error
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return "", fmt.Errorf("host %.60q is no name: %w", host, err)
		}
	}
	name = strings.ToLower(name)
	if !valid(name) {
		return "", fmt.Errorf("host %.60q is no name", host)
	}
	return name, nil
}

// Pattern normalises a host pattern of a policy, in which "*." at the front stands for one label. A
// name under which the public can register names (co.uk) must not follow the wildcard.
func Pattern(s string) (string, error) {
	rest, wild := strings.CutPrefix(s, "*.")
	if strings.Contains(rest, ":") {
		return "", fmt.Errorf("host %.60q is no name", s)
	}
	name, err := Normalise(rest)
	if err != nil || !wild {
		return name, err
	}
	if suffix, icann := publicsuffix.PublicSuffix(name); suffix == name && (icann || !strings.Contains(name, ".")) {
		return "", fmt.Errorf("host %.60q would be every name under %s", s, name)
	}
	return "*." + name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// valid reports whether a name in lower case has letters, digits, '-' and '_' in labels of at most
// 63, or is an address with colons.
func valid(name string) bool {
	if name == "" || len(name) > maxLength {
		return false
	}
	label := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.':
			if label == 0 {
				return false
			}
			label = 0
			continue
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', c == '-', c == '_', c == ':':
		default:
			return false
		}
		if label++; label > 63 {
			return false
		}
	}
	return label > 0
}
