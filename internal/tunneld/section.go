package tunneld

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/netio/hostname"
	"paddock/internal/netio/listen"
	"paddock/internal/process/config"
	"paddock/internal/process/keyid"
	"paddock/internal/process/strictyaml"
	"paddock/tunnel"
)

// ReadSection reads what stands under the key tunnel. Faults are in the node's file.
func (s *Settings) ReadSection(n *strictyaml.Node) {
	s.fields().Read(n, "tunnel")
}

// fields are those of the section, with the defaults set.
func (s *Settings) fields() strictyaml.Fields {
	s.Backoff = Backoff{Interval: 200 * time.Millisecond, MaxInterval: 30 * time.Second}
	return strictyaml.Fields{
		"serve": func(e strictyaml.Entry) { s.readServe(e, s.serveFields()) },
		"clients": func(e strictyaml.Entry) {
			for _, item := range e.Value.Items(e.Key) {
				s.readPeer(item)
			}
		},
		"connect": func(e strictyaml.Entry) {
			c := &s.Connect
			strictyaml.Fields{
				"server":      strictyaml.Into(&c.Server, address),
				"server_id":   func(e strictyaml.Entry) { c.Pinned = true; strictyaml.Into(&c.ServerID, keyid.Parse)(e) },
				"root_ca":     strictyaml.Into(&c.RootCA, text),
				"key":         strictyaml.Into(&c.Key, text),
				"cert":        strictyaml.Into(&c.Cert, text),
				"token_file":  strictyaml.Into(&c.TokenFile, text),
				"budget":      strictyaml.Into(&c.Budget, size),
				"connections": strictyaml.Into(&c.Conns, connections),
				"plaintext":   strictyaml.Into(&c.Plaintext, truth),
				"admin":       strictyaml.Into(&c.Admin, address),
				"admin_token": strictyaml.Into(&c.Token, nonEmpty),
				"inspect":     strictyaml.Into(&c.Inspect, loopback),
			}.Read(e.Value, e.Key)
			if c.Server == "" {
				e.At.Fault("connect needs server, the address of the tunnel's server")
			}
		},
		"tunnels": func(e strictyaml.Entry) {
			for _, t := range e.Value.Entries(e.Key) {
				s.readTunnel(t, nil)
			}
		},
		"backoff": func(e strictyaml.Entry) { backoffFields(&s.Backoff).Read(e.Value, e.Key) },
	}
}

// backoffFields are those of the entry backoff.
func backoffFields(b *Backoff) strictyaml.Fields {
	return strictyaml.Fields{
		"interval":     strictyaml.Into(&b.Interval, span),
		"max_interval": strictyaml.Into(&b.MaxInterval, span),
		"max_time":     strictyaml.Into(&b.MaxTime, spanOrZero),
	}
}

// serveFields are those of the entry serve.
func (s *Settings) serveFields() strictyaml.Fields {
	return strictyaml.Fields{
		"listen":          strictyaml.Into(&s.Serve.Listen, address),
		"http":            strictyaml.Into(&s.Serve.HTTP, address),
		"tls":             strictyaml.Into(&s.Serve.TLS, address),
		"tls_crt":         strictyaml.Into(&s.Serve.Cert, text),
		"tls_key":         strictyaml.Into(&s.Serve.Key, text),
		"key":             strictyaml.Into(&s.Serve.Identity, text),
		"budget":          strictyaml.Into(&s.Serve.Budget, size),
		"lease":           strictyaml.Into(&s.Serve.Lease, span),
		"admin":           strictyaml.Into(&s.Serve.Admin, address),
		"admin_token":     strictyaml.Into(&s.Serve.Token, nonEmpty),
		"plaintext":       strictyaml.Into(&s.Serve.Plaintext, truth),
		"access_log":      strictyaml.Into(&s.Serve.LogServed, accessLines),
		"http2":           strictyaml.Into(&s.Serve.NoHTTP2, negated),
		"limits":          func(e strictyaml.Entry) { limitFields(&s.Serve.Limits).Read(e.Value, e.Key) },
		"control":         strictyaml.Into(&s.Serve.Control, nonEmpty),
		"trusted_proxies": strictyaml.ListInto(&s.Serve.Trusted, network),

		"proxy_protocol_from": strictyaml.ListInto(&s.Serve.Proxies, introducers),
	}
}

// readServe reads the entry serve.
func (s *Settings) readServe(e strictyaml.Entry, known strictyaml.Fields) {
	known.Read(e.Value, e.Key)
	if (s.Serve.Cert == "") != (s.Serve.Key == "") {
		e.At.Fault("tls_crt and tls_key are set together or not at all")
	}
}

// readPeer reads one who may connect.
func (s *Settings) readPeer(n *strictyaml.Node) {
	p := Peer{Place: n.Place()}
	var id, token string
	var tokenID string
	strictyaml.Fields{
		"name":         strictyaml.Into(&p.Name, label),
		"id":           strictyaml.Into(&id, text),
		"token_id":     strictyaml.Into(&tokenID, text),
		"token_sha256": strictyaml.Into(&token, text),
		"expires":      strictyaml.Into(&p.Expires, func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }),
		"hosts":        strictyaml.ListInto(&p.Hosts, hostname.Pattern),
		"ports":        strictyaml.ListInto(&p.Ports, ParsePortRange),
		"protos":       strictyaml.ListInto(&p.Protocols, protocol),
		"groups":       strictyaml.ListInto(&p.Groups, label),
		"max_inflight": strictyaml.Into(&p.MaxInflight, count),
		"admin":        strictyaml.Into(&p.Admin, truth),
	}.Read(n, "a client")
	switch {
	case p.Name == "":
		n.Fault("a client needs a name")
	case (id == "") == (token == ""):
		n.Fault("client %s: want an id or a token_sha256, one of the two", p.Name)
	case id != "":
		var err error
		p.ID, err = keyid.Parse(id)
		n.Check(err)
	default:
		p.TokenID = p.Name
		if tokenID != "" {
			p.TokenID = tokenID
		}
		if hash, err := hex.DecodeString(token); err != nil || len(hash) != sha256.Size {
			n.Fault("client %s: token_sha256 has 64 hexadecimal digits", p.Name)
		} else if p.TokenHash = [sha256.Size]byte(hash); p.TokenHash == sha256.Sum256(nil) {
			n.Fault("client %s: token_sha256 is that of no token at all", p.Name)
		}
	}
	switch {
	case s.listed == nil:
		s.listed = map[string]bool{}
	case s.listed[p.Name] && p.Name != "":
		n.Fault("client %s is there twice", p.Name)
	}
	s.listed[p.Name] = true
	s.Clients = append(s.Clients, p)
}

// readTunnel reads one that is offered. allowed are the keys that the form of
// go-http-tunnel has; nil is all.
func (s *Settings) readTunnel(e strictyaml.Entry, allowed []string) {
	t := Tunnel{Name: e.Key, Place: e.At.Place()}
	all := strictyaml.Fields{
		"proto":            strictyaml.Into(&t.Protocol, protocol),
		"addr":             strictyaml.Into(&t.Target, nonEmpty),
		"host":             strictyaml.Into(&t.Host, hostname.Pattern),
		"path":             strictyaml.Into(&t.Path, path),
		"remote_addr":      strictyaml.Into(&t.Remote, address),
		"group":            strictyaml.Into(&t.Group, label),
		"auth":             strictyaml.Into(&t.Auth, userAndPassword),
		"host_header":      strictyaml.Into(&t.HostHeader, hostHeader),
		"response_timeout": strictyaml.Into(&t.HeadTimeout, func(s string) (time.Duration, error) { return orNever(spanOrZero(s)) }),
		"proxy_protocol":   strictyaml.Into(&t.ProxyProtocol, truth),
		"mode":             strictyaml.Into(&t.Direct, ParseMode),
		"max_inflight":     strictyaml.Into(&t.MaxInflight, count),
	}
	if allowed != nil {
		for key := range all {
			if !slices.Contains(allowed, key) {
				delete(all, key)
			}
		}
	}
	at := map[string]strictyaml.Entry{}
	for _, field := range e.Value.Entries("tunnel " + e.Key) {
		at[field.Key] = field
	}
	all.Read(e.Value, "tunnel "+e.Key)
	if t.Protocol == "" {
		if at["proto"].At == nil {
			e.At.Fault("tunnel %s needs proto: http, tcp or sni", t.Name)
		}
		return
	}
	if at["addr"].At == nil {
		e.At.Fault("tunnel %s needs addr, where the service is", t.Name)
	}
	wanted, only := map[string]string{"http": "host", "sni": "host", "tcp": "remote_addr"}, map[string][]string{
		"host": {"http", "sni"}, "remote_addr": {"tcp"}, "auth": {"http"}, "path": {"http"},
		"host_header": {"http"}, "response_timeout": {"http"}, "proxy_protocol": {"tcp", "sni"}, "mode": {"tcp", "sni"},
	}
	if allowed == nil {
		delete(wanted, "http") // the server chooses a name
	}
	if key, needed := wanted[t.Protocol]; needed && at[key].At == nil {
		e.At.Fault("tunnel %s is of %s, which needs %s", t.Name, t.Protocol, key)
	}
	if field := at["group"]; field.At != nil {
		switch {
		case t.Protocol == "http" && at["host"].At == nil:
			field.At.Fault("tunnel %s: a group needs a host that its members know", t.Name)
		case strings.HasSuffix(t.Remote, ":0"):
			field.At.Fault("tunnel %s: a group needs a port that its members know", t.Name)
		}
	}
	for key, protocols := range only {
		if field, there := at[key]; there && !slices.Contains(protocols, t.Protocol) {
			field.At.Fault("tunnel %s is of %s, which has no %s", t.Name, t.Protocol, key)
		}
	}
	s.Tunnels = append(s.Tunnels, t)
}

// modeMux and modeDirect are how the visitors of a tunnel travel.
const modeMux, modeDirect = "mux", "direct"

// ParseMode reads how visitors travel: by the link, or each by a connection of his own.
func ParseMode(s string) (direct bool, err error) {
	if s != modeMux && s != modeDirect {
		return false, fmt.Errorf("%q is neither %s nor %s", s, modeMux, modeDirect)
	}
	return s == modeDirect, nil
}

// logRefused and logAll are which visitors have a line in the log.
const logRefused, logAll = "refused", "all"

// accessLines reads which; all are those who were served too.
func accessLines(s string) (all bool, err error) {
	if s != logRefused && s != logAll {
		return false, fmt.Errorf("%q is neither %s nor %s", s, logRefused, logAll)
	}
	return s == logAll, nil
}

// The values.

func text(s string) (string, error) { return s, nil }

func nonEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("it is empty")
	}
	return s, nil
}

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
	if err == nil && n > tunnel.MaxConns {
		err = fmt.Errorf("%d is too many: at most %d", n, tunnel.MaxConns)
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

// orNever makes 0 what the tunnel takes for no limit.
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

// network is a prefix. Visitors' addresses of IPv4 are compared as such, so a network of
// these that is written as one of IPv6 becomes what it means.
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

// introducers is a network of proxies that say who the visitors are.
func introducers(s string) (netip.Prefix, error) {
	p, err := network(s)
	if err == nil && p.Bits() == 0 {
		err = fmt.Errorf("%s is everybody: whoever comes could say that he is anybody", s)
	}
	return p, err
}

func protocol(s string) (string, error) {
	if s != "http" && s != "tcp" && s != "sni" {
		return "", fmt.Errorf("%q is none of http, tcp, sni", s)
	}
	return s, nil
}

// ParseGroup reads the name of a group.
func ParseGroup(s string) (string, error) { return label(s) }

// label is a name for logs and metrics.
func label(s string) (string, error) {
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

// hostHeader is what the service sees as Host.
func hostHeader(s string) (string, error) {
	if s == "preserve" {
		return "", nil
	}
	return nonEmpty(s)
}
