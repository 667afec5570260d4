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

	"paddock/internal/config"
	"paddock/internal/hostname"
	"paddock/internal/keyid"
	"paddock/internal/strictyaml"
)

// fields are the keys of a mapping, each with what takes its value.
type fields map[string]func(e strictyaml.Entry)

// read gives each entry to its field.
func (f fields) read(n *strictyaml.Node, what string) {
	for _, e := range n.Entries(what) {
		if take, ok := strictyaml.Known(e, f); ok {
			take(e)
		}
	}
}

// into takes a single value that parse understands.
func into[T any](field *T, parse func(string) (T, error)) func(strictyaml.Entry) {
	return func(e strictyaml.Entry) {
		text, ok := e.Text(e.Key)
		if !ok {
			return
		}
		v, err := parse(text)
		if err != nil {
			e.Value.Fault("%s: %w", e.Key, err)
			return
		}
		*field = v
	}
}

// listInto takes a list of values that parse understands.
func listInto[T any](field *[]T, parse func(string) (T, error)) func(strictyaml.Entry) {
	return func(e strictyaml.Entry) {
		for _, item := range e.Value.Items(e.Key) {
			text, ok := item.Text("a value of " + e.Key)
			if !ok {
				continue
			}
			v, err := parse(text)
			if err != nil {
				item.Fault("%s: %w", e.Key, err)
				continue
			}
			*field = append(*field, v)
		}
	}
}

// ReadSection reads what stands under the key tunnel. Faults are in the node's file.
func (s *Settings) ReadSection(n *strictyaml.Node) {
	s.fields().read(n, "tunnel")
}

// fields are those of the section, with the defaults set.
func (s *Settings) fields() fields {
	s.Backoff = Backoff{Interval: 200 * time.Millisecond, MaxInterval: 30 * time.Second}
	return fields{
		"serve": func(e strictyaml.Entry) {
			fields{
				"listen":          into(&s.Serve.Listen, address),
				"http":            into(&s.Serve.HTTP, address),
				"tls":             into(&s.Serve.TLS, address),
				"tls_crt":         into(&s.Serve.Cert, text),
				"tls_key":         into(&s.Serve.Key, text),
				"key":             into(&s.Serve.Identity, text),
				"budget":          into(&s.Serve.Budget, size),
				"lease":           into(&s.Serve.Lease, span),
				"admin":           into(&s.Serve.Admin, address),
				"admin_token":     into(&s.Serve.Token, nonEmpty),
				"plaintext":       into(&s.Serve.Plaintext, truth),
				"control":         into(&s.Serve.Control, nonEmpty),
				"trusted_proxies": listInto(&s.Serve.Trusted, netip.ParsePrefix),
			}.read(e.Value, e.Key)
			if (s.Serve.Cert == "") != (s.Serve.Key == "") {
				e.At.Fault("tls_crt and tls_key are set together or not at all")
			}
		},
		"clients": func(e strictyaml.Entry) {
			for _, item := range e.Value.Items(e.Key) {
				s.readPeer(item)
			}
		},
		"connect": func(e strictyaml.Entry) {
			c := &s.Connect
			fields{
				"server":      into(&c.Server, address),
				"server_id":   func(e strictyaml.Entry) { c.Pinned = true; into(&c.ServerID, keyid.Parse)(e) },
				"root_ca":     into(&c.RootCA, text),
				"key":         into(&c.Key, text),
				"cert":        into(&c.Cert, text),
				"token_file":  into(&c.TokenFile, text),
				"budget":      into(&c.Budget, size),
				"plaintext":   into(&c.Plaintext, truth),
				"admin":       into(&c.Admin, address),
				"admin_token": into(&c.Token, nonEmpty),
			}.read(e.Value, e.Key)
			if c.Server == "" {
				e.At.Fault("connect needs server, the address of the tunnel's server")
			}
		},
		"tunnels": func(e strictyaml.Entry) {
			for _, t := range e.Value.Entries(e.Key) {
				s.readTunnel(t, nil)
			}
		},
		"backoff": func(e strictyaml.Entry) {
			fields{
				"interval":     into(&s.Backoff.Interval, span),
				"max_interval": into(&s.Backoff.MaxInterval, span),
				"max_time":     into(&s.Backoff.MaxTime, spanOrZero),
			}.read(e.Value, e.Key)
		},
	}
}

// readPeer reads one who may connect.
func (s *Settings) readPeer(n *strictyaml.Node) {
	p := Peer{Place: n.Place()}
	var id, token string
	var tokenID string
	fields{
		"name":         into(&p.Name, label),
		"id":           into(&id, text),
		"token_id":     into(&tokenID, text),
		"token_sha256": into(&token, text),
		"expires":      into(&p.Expires, func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }),
		"hosts":        listInto(&p.Hosts, hostname.Pattern),
		"ports":        listInto(&p.Ports, ParsePortRange),
		"protos":       listInto(&p.Protocols, protocol),
		"max_inflight": into(&p.MaxInflight, count),
		"admin":        into(&p.Admin, truth),
	}.read(n, "a client")
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
	if slices.ContainsFunc(s.Clients, func(other Peer) bool { return other.Name == p.Name && p.Name != "" }) {
		n.Fault("client %s is there twice", p.Name)
	}
	s.Clients = append(s.Clients, p)
}

// readTunnel reads one that is offered. allowed are the keys that the form of
// go-http-tunnel has; nil is all.
func (s *Settings) readTunnel(e strictyaml.Entry, allowed []string) {
	t := Tunnel{Name: e.Key, Place: e.At.Place()}
	all := fields{
		"proto":            into(&t.Protocol, protocol),
		"addr":             into(&t.Target, nonEmpty),
		"host":             into(&t.Host, hostname.Pattern),
		"path":             into(&t.Path, path),
		"remote_addr":      into(&t.Remote, address),
		"auth":             into(&t.Auth, userAndPassword),
		"host_header":      into(&t.HostHeader, hostHeader),
		"response_timeout": into(&t.HeadTimeout, func(s string) (time.Duration, error) { return orNever(spanOrZero(s)) }),
		"proxy_protocol":   into(&t.ProxyProtocol, truth),
		"max_inflight":     into(&t.MaxInflight, count),
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
	all.read(e.Value, "tunnel "+e.Key)
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
		"host_header": {"http"}, "response_timeout": {"http"}, "proxy_protocol": {"tcp", "sni"},
	}
	if allowed == nil {
		delete(wanted, "http") // the server chooses a name
	}
	if key, needed := wanted[t.Protocol]; needed && at[key].At == nil {
		e.At.Fault("tunnel %s is of %s, which needs %s", t.Name, t.Protocol, key)
	}
	for key, protocols := range only {
		if field, there := at[key]; there && !slices.Contains(protocols, t.Protocol) {
			field.At.Fault("tunnel %s is of %s, which has no %s", t.Name, t.Protocol, key)
		}
	}
	s.Tunnels = append(s.Tunnels, t)
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
	return false, fmt.Errorf("%q is neither true nor false", s)
}

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no positive number", s)
	}
	return n, nil
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

func protocol(s string) (string, error) {
	if s != "http" && s != "tcp" && s != "sni" {
		return "", fmt.Errorf("%q is none of http, tcp, sni", s)
	}
	return s, nil
}

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
