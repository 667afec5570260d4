package tunneld

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
	"paddock/tunnel"
	"paddock/tunnel/server"
)

// modeMux and modeDirect are how the visitors of a tunnel travel.
const modeMux, modeDirect = "mux", "direct"

// logRefused and logAll are which visitors have a line in the log.
const logRefused, logAll = "refused", "all"

func text(s string) (string, error) { return s, nil }

func truth(s string) (bool, error) {
	switch s {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is none of true, false, on and off", s)
}

// negated is truth of the opposite.
func negated(s string) (bool, error) {
	on, err := truth(s)
	return err == nil && !on, err
}

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no positive number", s)
	}
	return n, nil
}

// connections is how many a client holds.
func connections(s string) (int, error) {
	n, err := count(s)
	if err == nil && n > server.MaxConns {
		err = fmt.Errorf("%d is too many: at most %d", n, server.MaxConns)
	}
	return n, err
}

func size(s string) (int64, error) {
	n, err := config.ParseSize(s)
	if err == nil && n < config.MiB {
		err = fmt.Errorf("%s is too small", s)
	}
	return int64(n), err
}

func span(s string) (time.Duration, error) {
	d, err := spanOrZero(s)
	if err == nil && d == 0 {
		err = errors.New("0 is too short")
	}
	return d, err
}

func spanOrZero(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration such as 500ms, 90s or 15m", s)
	}
	return d, nil
}

// orNever turns 0 into the value that the tunnel takes for no limit.
func orNever(d time.Duration, err error) (time.Duration, error) {
	if err == nil && d == 0 {
		d = -1
	}
	return d, err
}

func address(s string) (string, error) {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fmt.Errorf("%q is not host:port", s)
	}
	return s, nil
}

// loopback is an address that is of this machine alone.
func loopback(s string) (string, error) {
	if err := listen.CheckOr(s, false, ""); err != nil {
		return "", err
	}
	return address(s)
}

// network reads a prefix. Visitors' IPv4 addresses are compared as IPv4, so an IPv4 prefix that is
// written as IPv6 is converted.
func network(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if a, is := netip.ParseAddr(s); is == nil {
		return p, fmt.Errorf("%s is no network: for this address alone it is %s/%d", s, s, a.BitLen())
	}
	if err != nil {
		return p, fmt.Errorf("%q is no network such as 10.0.0.0/8 or 2001:db8::/32", s)
	}
	if p.Addr().Is4In6() {
		const mapped = 96 // bits before the address of IPv4
		if p.Bits() < mapped {
			return p, fmt.Errorf("%s is a network of IPv6 by an address of IPv4: want one like %s/8", s, p.Addr().Unmap())
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p.Masked(), nil
}

// introducers reads a network of proxies that are trusted to name the visitors' addresses.
func introducers(s string) (netip.Prefix, error) {
	p, err := network(s)
	if err == nil && p.Bits() == 0 {
		err = fmt.Errorf("%s contains all addresses: every visitor could claim any address", s)
	}
	return p, err
}

func protocol(s string) (tunnel.Protocol, error) {
	if s != "http" && s != "tcp" && s != "sni" {
		return "", fmt.Errorf("%q is none of http, tcp, sni", s)
	}
	return tunnel.Protocol(s), nil
}

// ParseLabel reads a name for logs and metrics, such as that of a group.
func ParseLabel(s string) (string, error) {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.", c)) {
			return "", fmt.Errorf("%q has more than letters, digits, dots, - and _", s)
		}
	}
	if s == "" || len(s) > 64 {
		return "", errors.New("want 1 to 64 characters")
	}
	return s, nil
}

func userAndPassword(s string) (string, error) {
	if user, password, ok := strings.Cut(s, ":"); !ok || user == "" || password == "" {
		return "", errors.New("want user:password")
	}
	return s, nil
}

func path(s string) (string, error) {
	if !strings.HasPrefix(s, "/") {
		return "", fmt.Errorf("%q does not begin with /", s)
	}
	return s, nil
}

// hostHeader reads the value of the Host field that the service receives.
func hostHeader(s string) (string, error) {
	if s == "preserve" {
		return "", nil
	}
	return strictyaml.NonEmpty(s)
}
