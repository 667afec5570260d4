package tunneld

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"paddock/internal/netio/hostname"
	"paddock/internal/process/keyid"
	"paddock/internal/process/strictyaml"
	"paddock/tunnel"
	"paddock/tunnel/client"
)

// ReadSection reads the section under the key tunnel. Faults are recorded in the node's file.
func (s *Settings) ReadSection(n *strictyaml.Node) {
	s.fields().Read(n, "tunnel")
}

// fields are the keys of the section. It sets the defaults.
func (s *Settings) fields() strictyaml.Fields {
	s.Backoff = Backoff{Interval: 200 * time.Millisecond, MaxInterval: 30 * time.Second}
	return strictyaml.Fields{
		"serve": func(e strictyaml.Entry) { s.readServe(e, s.serveKeys().fields()) },
		"clients": func(e strictyaml.Entry) {
			for _, item := range e.Value.Items(e.Key) {
				s.readPeer(item)
			}
		},
		"connect": func(e strictyaml.Entry) {
			s.connectKeys().fields().Read(e.Value, e.Key)
			if s.Connect.Server == "" {
				e.At.Fault("connect needs server, the address of the tunnel's server")
			}
		},
		"tunnels": func(e strictyaml.Entry) {
			for _, t := range e.Value.Entries(e.Key) {
				s.readTunnel(t, nil)
			}
		},
		"backoff": func(e strictyaml.Entry) { backoffKeys(&s.Backoff).fields().Read(e.Value, e.Key) },
	}
}

func (s *Settings) serveKeys() keys {
	v := &s.Serve
	return keys{
		one("listen", &v.Listen, address),
		one("http", &v.HTTP, address),
		one("tls", &v.TLS, address),
		one("tls_crt", &v.Cert, text),
		one("tls_key", &v.Key, text),
		one("key", &v.Identity, text),
		one("budget", &v.Budget, size),
		one("lease", &v.Lease, span),
		one("plaintext", &v.Plaintext, truth),
		one("admin", &v.Admin, address),
		one("admin_token", &v.Token, strictyaml.NonEmpty),
		one("access_log", &v.LogServed, strictyaml.Either(logRefused, logAll)).as(logAll),
		one("http2", &v.NoHTTP2, negated).as("off"),
		group("limits", limitKeys(&v.Limits)),
		one("control", &v.Control, strictyaml.NonEmpty),
		list("trusted_proxies", &v.Trusted, network),
		list("proxy_protocol_from", &v.Proxies, introducers),
	}
}

// limitKeys lists the limits of a server. Memory and leases have keys of their own.
func limitKeys(l *tunnel.Limits) keys {
	return keys{
		one("direct", &l.Direct, count),
		one("direct_wait", &l.DirectWait, span),
		one("head", &l.Head, span),
		one("idle", &l.Idle, span),
		one("linger", &l.Linger, span),
		one("queue", &l.Queue, count),
		one("raw_visitors", &l.RawVisitors, count),
		one("requests", &l.Requests, count),
		one("return", &l.Return, span),
		one("sessions", &l.Sessions, count),
		one("stall", &l.Stall, span),
		one("streams", &l.Streams, count),
		one("tunnel_requests", &l.TunnelRequests, count),
		one("tunnel_streams", &l.TunnelStreams, count),
		one("unsent", &l.Unsent, span),
		one("visitors", &l.Visitors, count),
		one("visitors_each", &l.VisitorsEach, count),
		one("waiting", &l.Waiting, count),
	}
}

func (s *Settings) connectKeys() keys {
	v := &s.Connect
	pin := ""
	if v.Pinned {
		pin = v.ServerID.String()
	}
	return keys{
		one("server", &v.Server, address),
		one("server_id", &pin, func(s string) (string, error) { return s, v.Pin(s) }),
		one("root_ca", &v.RootCA, text),
		one("key", &v.Key, text),
		one("cert", &v.Cert, text),
		one("token_file", &v.TokenFile, text),
		one("budget", &v.Budget, size),
		one("connections", &v.Conns, connections),
		one("plaintext", &v.Plaintext, truth),
		one("admin", &v.Admin, address),
		one("admin_token", &v.Token, strictyaml.NonEmpty),
		one("inspect", &v.Inspect, loopback),
	}
}

func backoffKeys(b *Backoff) keys {
	return keys{
		one("interval", &b.Interval, span),
		one("max_interval", &b.MaxInterval, span),
		one("max_time", &b.MaxTime, spanOrZero),
	}
}

// credential is how a client is known, as the file has it.
type credential struct{ id, tokenID, tokenSHA256 string }

func (p *Peer) keys(c *credential) keys {
	return keys{
		one("name", &p.Name, ParseLabel),
		one("id", &c.id, text),
		one("token_id", &c.tokenID, text),
		one("token_sha256", &c.tokenSHA256, text),
		one("expires", &p.Expires, func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }),
		list("hosts", &p.Hosts, hostname.Pattern),
		list("ports", &p.Ports, ParsePortRange),
		list("protos", &p.Protocols, protocol),
		list("groups", &p.Groups, ParseLabel),
		one("max_inflight", &p.MaxInflight, count),
		one("admin", &p.Admin, truth),
	}
}

func tunnelKeys(t *client.Tunnel) keys {
	return keys{
		one("proto", &t.Protocol, protocol),
		one("addr", &t.Target, strictyaml.NonEmpty),
		one("host", &t.Host, hostname.Pattern),
		one("path", &t.Path, path),
		one("remote_addr", &t.Remote, address),
		one("group", &t.Group, ParseLabel),
		one("auth", &t.Auth, userAndPassword),
		one("host_header", &t.HostHeader, hostHeader),
		one("response_timeout", &t.HeadTimeout, func(s string) (time.Duration, error) { return orNever(spanOrZero(s)) }),
		one("proxy_protocol", &t.ProxyProtocol, truth),
		one("mode", &t.Direct, strictyaml.Either(modeMux, modeDirect)).as(modeDirect),
		one("max_inflight", &t.MaxInflight, count),
	}
}

// readServe reads the entry serve.
func (s *Settings) readServe(e strictyaml.Entry, known strictyaml.Fields) {
	known.Read(e.Value, e.Key)
	if (s.Serve.Cert == "") != (s.Serve.Key == "") {
		e.At.Fault("tls_crt and tls_key are set together or not at all")
	}
}

// readPeer reads the entry of a client that may connect.
func (s *Settings) readPeer(n *strictyaml.Node) {
	p := Peer{Place: n.Place()}
	var c credential
	p.keys(&c).fields().Read(n, "a client")
	switch {
	case p.Name == "":
		n.Fault("a client needs a name")
	case (c.id == "") == (c.tokenSHA256 == ""):
		n.Fault("client %s: want an id or a token_sha256, one of the two", p.Name)
	case c.id != "":
		var err error
		p.ID, err = keyid.Parse(c.id)
		n.Check(err)
	default:
		p.TokenID = p.Name
		if c.tokenID != "" {
			p.TokenID = c.tokenID
		}
		if hash, err := hex.DecodeString(c.tokenSHA256); err != nil || len(hash) != sha256.Size {
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

// protocolsOf are the protocols of the keys that not every tunnel has.
var protocolsOf = map[string][]tunnel.Protocol{
	"host": {tunnel.HTTP, tunnel.SNI}, "remote_addr": {tunnel.TCP}, "auth": {tunnel.HTTP}, "path": {tunnel.HTTP},
	"host_header": {tunnel.HTTP}, "response_timeout": {tunnel.HTTP},
	"proxy_protocol": {tunnel.TCP, tunnel.SNI}, "mode": {tunnel.TCP, tunnel.SNI},
}

// readTunnel reads one that is offered. allowed are the keys that the form of
// go-http-tunnel has; nil is all.
func (s *Settings) readTunnel(e strictyaml.Entry, allowed []string) {
	t := client.Tunnel{Name: e.Key}
	known := tunnelKeys(&t).fields()
	if allowed != nil {
		maps.DeleteFunc(known, func(key string, _ func(strictyaml.Entry)) bool { return !slices.Contains(allowed, key) })
	}
	entries := e.Value.Entries("tunnel " + e.Key)
	at := map[string]strictyaml.Entry{}
	for _, field := range entries {
		at[field.Key] = field
	}
	known.Take(entries)
	if t.Protocol == "" {
		if at["proto"].At == nil {
			e.At.Fault("tunnel %s needs proto: http, tcp or sni", t.Name)
		}
		return
	}
	if at["addr"].At == nil {
		e.At.Fault("tunnel %s needs addr, where the service is", t.Name)
	}
	place := "host"
	if t.Protocol == tunnel.TCP {
		place = "remote_addr"
	}
	chosen := t.Protocol == tunnel.HTTP && allowed == nil // by the server
	if at[place].At == nil && !chosen {
		e.At.Fault("tunnel %s is of %s, which needs %s", t.Name, t.Protocol, place)
	}
	switch field := at["group"]; {
	case field.At == nil:
	case t.Protocol == tunnel.HTTP && at["host"].At == nil:
		field.At.Fault("tunnel %s: a group needs a host that its members know", t.Name)
	case strings.HasSuffix(t.Remote, ":0"):
		field.At.Fault("tunnel %s: a group needs a port that its members know", t.Name)
	}
	for key, protocols := range protocolsOf {
		if field, there := at[key]; there && !slices.Contains(protocols, t.Protocol) {
			field.At.Fault("tunnel %s is of %s, which has no %s", t.Name, t.Protocol, key)
		}
	}
	s.Tunnels = append(s.Tunnels, t)
}

// ClientSide are the entries of a client's side, for files of others that hold them
// beside their own: connect, tunnels and backoff.
func (s *Settings) ClientSide() strictyaml.Fields {
	all, side := s.fields(), strictyaml.Fields{}
	for _, key := range []string{"connect", "tunnels", "backoff"} {
		side[key] = all[key]
	}
	return side
}
