package tunneld

import (
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/tunnel"
)

// printer writes flow mappings of YAML, whose strings are those of JSON.
type printer struct {
	b     strings.Builder
	comma bool
	err   error
}

// Print is the section tunnel that says what s says, in our own form. What stands for
// itself, since it is the default, is left out. The error is about what cannot be said.
func Print(s *Settings) ([]byte, error) {
	p := &printer{}
	if s.Original && s.Connect.RootCA == "" {
		p.b.WriteString("# Any server was believed. Add server_id to connect: \"paddock tunnel serve\" prints it.\n")
	}
	p.b.WriteString("tunnel:\n")
	if v := s.Serve; !reflect.ValueOf(v).IsZero() {
		p.open("  serve: ")
		p.text("listen", v.Listen)
		p.text("http", v.HTTP)
		p.text("tls", v.TLS)
		p.text("tls_crt", v.Cert)
		p.text("tls_key", v.Key)
		p.text("key", v.Identity)
		p.number("budget", v.Budget)
		p.span("lease", v.Lease)
		p.truth("plaintext", v.Plaintext)
		p.text("admin", v.Admin)
		p.text("admin_token", v.Token)
		if v.LogServed {
			p.text("access_log", logAll)
		}
		if v.NoHTTP2 {
			p.text("http2", "off")
		}
		p.limits(v.Limits)
		p.text("control", v.Control)
		list(p, "trusted_proxies", v.Trusted)
		list(p, "proxy_protocol_from", v.Proxies)
		p.close()
	}
	if len(s.Clients) > 0 {
		p.b.WriteString("  clients:\n")
	}
	for i := range s.Clients {
		p.client(&s.Clients[i])
	}
	if v := s.Connect; v.Server != "" {
		p.open("  connect: ")
		p.text("server", v.Server)
		if v.Pinned {
			p.text("server_id", v.ServerID.String())
		}
		p.text("root_ca", v.RootCA)
		p.text("key", v.Key)
		p.text("cert", v.Cert)
		p.text("token_file", v.TokenFile)
		p.number("budget", v.Budget)
		p.number("connections", int64(v.Conns))
		p.truth("plaintext", v.Plaintext)
		p.text("admin", v.Admin)
		p.text("admin_token", v.Token)
		p.text("inspect", v.Inspect)
		p.close()
	}
	if len(s.Tunnels) > 0 {
		p.b.WriteString("  tunnels:\n")
	}
	for i := range s.Tunnels {
		p.tunnel(&s.Tunnels[i])
	}
	p.open("  backoff: ")
	p.span("interval", s.Backoff.Interval)
	p.span("max_interval", s.Backoff.MaxInterval)
	p.span("max_time", s.Backoff.MaxTime)
	p.close()
	return []byte(p.b.String()), p.err
}

func (p *printer) client(c *Peer) {
	p.open("    - ")
	p.text("name", c.Name)
	if c.TokenID == "" {
		p.text("id", c.ID.String())
	} else {
		p.text("token_id", c.TokenID)
		p.text("token_sha256", hex.EncodeToString(c.TokenHash[:]))
	}
	if !c.Expires.IsZero() {
		p.text("expires", c.Expires.Format(time.RFC3339))
	}
	list(p, "hosts", c.Hosts)
	list(p, "ports", c.Ports)
	list(p, "protos", c.Protocols)
	list(p, "groups", c.Groups)
	p.number("max_inflight", int64(c.MaxInflight))
	p.truth("admin", c.Admin)
	p.close()
}

func (p *printer) limits(l tunnel.Limits) {
	texts := limitTexts(l)
	if len(texts) == 0 {
		return
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, key+": "+texts[key])
	}
	p.field("limits", "{"+strings.Join(all, ", ")+"}")
}

func (p *printer) tunnel(t *Tunnel) {
	p.open("    " + strconv.Quote(t.Name) + ": ")
	p.text("proto", t.Protocol)
	p.text("addr", t.Target)
	p.text("host", t.Host)
	p.text("path", t.Path)
	p.text("remote_addr", t.Remote)
	p.text("group", t.Group)
	p.text("auth", t.Auth)
	p.text("host_header", t.HostHeader)
	if t.HeadTimeout < 0 {
		p.text("response_timeout", "0s")
	} else {
		p.span("response_timeout", t.HeadTimeout)
	}
	p.truth("proxy_protocol", t.ProxyProtocol)
	if t.Direct {
		p.text("mode", modeDirect)
	}
	p.number("max_inflight", int64(t.MaxInflight))
	p.close()
}

func (p *printer) open(s string) {
	p.b.WriteString(s + "{")
	p.comma = false
}

func (p *printer) close() { p.b.WriteString("}\n") }

func (p *printer) field(key, value string) {
	if p.comma {
		p.b.WriteString(", ")
	}
	p.comma = true
	p.b.WriteString(key + ": " + value)
}

func (p *printer) text(key, value string) {
	if strings.Contains(value, "${") && p.err == nil {
		p.err = fmt.Errorf("%s has ${, which stands for the environment in our form", key)
	}
	if value != "" {
		p.field(key, strconv.Quote(value))
	}
}

func (p *printer) number(key string, n int64) {
	if n != 0 {
		p.field(key, strconv.FormatInt(n, 10))
	}
}

func (p *printer) truth(key string, v bool) {
	if v {
		p.field(key, "true")
	}
}

func (p *printer) span(key string, d time.Duration) {
	if d != 0 {
		p.text(key, d.String())
	}
}

func list[T any](p *printer, key string, values []T) {
	if len(values) == 0 {
		return
	}
	var all []string
	for _, v := range values {
		all = append(all, strconv.Quote(fmt.Sprint(v)))
	}
	p.field(key, "["+strings.Join(all, ", ")+"]")
}
