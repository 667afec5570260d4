package tunneld_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
)

var others = []string{"http", "bus"}

func read(text string) (*tunneld.Settings, error) {
	return tunneld.Read("/etc/paddock.yaml", []byte(text), others, func(name string) (string, bool) {
		return "of " + name, name == "PASSWORD"
	})
}

var (
	someID   = keyid.ID(sha256.Sum256([]byte("a key"))).String()
	someHash = sha256.Sum256([]byte("a token"))
	hashText = hex.EncodeToString(someHash[:])
)

// whole has every key.
func whole() string {
	return `
http: {listen: 127.0.0.1:1}
tunnel:
  serve: {listen: 127.0.0.1:7400, http: 127.0.0.1:8000, tls: 127.0.0.1:8443, tls_crt: c.pem, tls_key: k.pem, key: s.key, budget: 256MiB, lease: 20s, trusted_proxies: [10.0.0.0/8], proxy_protocol_from: [192.0.2.0/24, "2001:db8::/32"]}
  clients:
    - {name: bus-17, id: ` + someID + `, hosts: [Bus-17.example.com., "*.bus-17.example.com"], ports: ["127.0.0.1:20000-20009"], protos: [http, tcp], groups: [web], max_inflight: 256}
    - {name: ci, token_sha256: ` + hashText + `, expires: 2027-01-01T00:00:00Z, hosts: ["*.ci.example.com"], protos: [http], admin: true}
  connect: {server: "tunnel.example.com:7400", server_id: ` + strings.ToUpper(someID) + `, key: paddock.key, budget: 128MiB, connections: 2}
  tunnels:
    webui: {proto: http, addr: "http://localhost:8080/app", host: WebUI.example.com, path: /x, auth: "user:${PASSWORD}", host_header: preserve, response_timeout: 0s, max_inflight: 7, group: web}
    ssh:   {proto: tcp, addr: 192.168.0.5:22, remote_addr: 127.0.0.1:20001, proxy_protocol: on, mode: direct}
    tls:   {proto: sni, addr: localhost:443, host: tls.example.com}
  backoff: {interval: 1s, max_interval: 20s, max_time: 0s}
`
}

func TestWholeSection(t *testing.T) {
	s, err := read(whole())
	if err != nil {
		t.Fatal(err)
	}
	if s.Original || s.Serve.Budget != 256<<20 || s.Serve.Lease != 20*time.Second || len(s.Serve.Trusted) != 1 || s.Serve.Identity != "s.key" {
		t.Errorf("serve: %+v", s.Serve)
	}
	a, b := s.Clients[0], s.Clients[1]
	if a.ID.String() != someID || a.Hosts[0] != "bus-17.example.com" || a.Ports[0] != (tunneld.PortRange{Host: "127.0.0.1", First: 20000, Last: 20009}) ||
		a.MaxInflight != 256 || a.Groups[0] != "web" || a.Place != "paddock.yaml:6:7" {
		t.Errorf("first client: %+v", a)
	}
	if b.TokenHash != someHash || b.TokenID != "ci" || !b.Admin || b.Expires.Year() != 2027 {
		t.Errorf("second client: %+v", b)
	}
	if !s.Connect.Pinned || s.Connect.ServerID.String() != someID {
		t.Errorf("connect: %+v", s.Connect)
	}
	web, ssh := s.Tunnels[0], s.Tunnels[1]
	if web.Auth != "user:of PASSWORD" || web.Host != "webui.example.com" || web.HostHeader != "" || web.HeadTimeout >= 0 || web.MaxInflight != 7 || web.Group != "web" {
		t.Errorf("webui: %+v", web)
	}
	if !ssh.ProxyProtocol || !ssh.Direct || s.Tunnels[2].Direct || ssh.Remote != "127.0.0.1:20001" || s.Tunnels[2].Protocol != "sni" {
		t.Errorf("ssh: %+v", ssh)
	}
	if s.Backoff != (tunneld.Backoff{Interval: time.Second, MaxInterval: 20 * time.Second}) {
		t.Errorf("backoff: %+v", s.Backoff)
	}
}

// TestOriginal reads files as users of go-http-tunnel have them.
func TestOriginal(t *testing.T) {
	s, err := read(`
server_addr: 54.12.12.45:5223
tunnels:
  webui:
    proto: http
    addr: localhost:8080
    auth: user:${not expanded}
    host: webui.my-tunnel-host.com
  ssh:
    proto: tcp
    addr: 192.168.0.5:22
    remote_addr: 0.0.0.0:22
  tls:
    proto: sni
    addr: localhost:443
    host: tls.my-tunnel-host.com
`)
	if err != nil {
		t.Fatal(err)
	}
	want := tunneld.Backoff{Interval: 500 * time.Millisecond, MaxInterval: time.Minute, MaxTime: 15 * time.Minute}
	if !s.Original || s.Connect.Cert != "client.crt" || s.Connect.Key != "client.key" || s.Backoff != want || s.Connect.Server != "54.12.12.45:5223" {
		t.Errorf("%+v", s)
	}
	if len(s.Tunnels) != 3 || s.Tunnels[0].Auth != "user:${not expanded}" || s.Tunnels[1].Remote != "0.0.0.0:22" {
		t.Errorf("%+v", s.Tunnels)
	}
	s, err = read("server_addr: host.example\ntls_crt: a\ntls_key: b\nroot_ca: c\ntunnels: {x: {proto: tcp, addr: 22, remote_addr: 127.0.0.1:22}}\n" +
		"backoff: {interval: 1s, multiplier: 2, max_interval: 2s, max_time: 0s}\n")
	if err != nil || s.Connect.Server != "host.example:5223" || s.Connect.RootCA != "c" || s.Backoff.MaxTime != 0 || s.Backoff.Interval != time.Second {
		t.Errorf("%+v, %v", s, err)
	}
}

// A network of IPv4 is one however it is written: visitors from there are compared by that.
func TestNetworksOfIPv4(t *testing.T) {
	s, err := read("tunnel: {serve: {trusted_proxies: ['::ffff:10.0.0.0/104', 10.1.2.3/8, '2001:db8::/32'], proxy_protocol_from: ['::ffff:192.0.2.1/128']}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Serve.Trusted, s.Serve.Proxies); got != "[10.0.0.0/8 10.0.0.0/8 2001:db8::/32] [192.0.2.1/32]" {
		t.Error(got)
	}
}

func TestFaults(t *testing.T) {
	client := func(s string) string { return "tunnel:\n  clients:\n    - {name: a, " + s + "}\n" }
	offered := func(s string) string { return "tunnel:\n  tunnels:\n    a: {" + s + "}\n" }
	for _, c := range []struct{ what, text, want string }{
		{"empty", "", "/etc/paddock.yaml is empty"},
		{"TAB in the well-known sample", "server_addr: a\ntunnels:\n  webui:\n    proto: http\n\tsni:\n", "paddock.yaml:5:1: tab in indentation"},
		{"neither form", "tunels: {}\n", "paddock.yaml:1:1: unknown key tunels; did you mean tunnel?"},
		{"unknown key", "tunnel: {srve: {}}\n", "1:10: unknown key srve; did you mean serve?"},
		{"original without a server", "tunnels: {}\n", "1:1: the file needs server_addr"},
		{"original with a key of ours", "server_addr: a\ntunnels: {x: {proto: http, addr: a:1, host: b, path: /}}\n", "2:48: unknown key path"},
		{"multiplier", "server_addr: a\ntunnels: {}\nbackoff: {multiplier: 0.5}\n", "3:23: multiplier: value out of range"},
		{"half a pair", "tunnel: {serve: {tls_crt: c.pem}}\n", "1:10: tls_crt and tls_key are set together"},
		{"budget", "tunnel: {serve: {budget: 12}}\n", "1:26: budget: 12 is too small"},
		{"proxy", "tunnel: {serve: {trusted_proxies: [10.0.0.0]}}\n", "1:36: trusted_proxies: 10.0.0.0 is no network: for this address alone it is 10.0.0.0/32"},
		{"no network", "tunnel: {serve: {trusted_proxies: [10.0.0.0/33]}}\n", `1:36: trusted_proxies: "10.0.0.0/33" is no network such as`},
		{"half of IPv6", "tunnel: {serve: {trusted_proxies: ['::ffff:10.0.0.0/90']}}\n", "1:36: trusted_proxies: ::ffff:10.0.0.0/90 is a network of IPv6 by an address of IPv4"},
		{"introduced by all addresses, as IPv6", "tunnel: {serve: {proxy_protocol_from: ['::ffff:0.0.0.0/96']}}\n", "1:40: proxy_protocol_from: ::ffff:0.0.0.0/96 contains all addresses"},
		{"unknown limit", "tunnel: {serve: {limits: {stream: 3}}}\n", "1:27: unknown key stream; did you mean streams?"},
		{"limit of nothing", "tunnel: {serve: {limits: {queue: 0}}}\n", "1:34: queue: \"0\" is no positive number"},
		{"limit without a unit", "tunnel: {serve: {limits: {head: 10}}}\n", "1:33: head: \"10\" is no duration"},
		{"access log of nothing", "tunnel: {serve: {access_log: none}}\n", "1:30: access_log: \"none\" is neither refused nor all"},
		{"introduced by an address", "tunnel: {serve: {proxy_protocol_from: [10.0.0.1]}}\n", "1:40: proxy_protocol_from: "},
		{"introduced by all addresses", "tunnel: {serve: {proxy_protocol_from: [10.0.0.0/8, '::/0']}}\n", "1:52: proxy_protocol_from: ::/0 contains all addresses"},
		{"connect without a server", "tunnel: {connect: {}}\n", "1:10: connect needs server"},
		{"short id", "tunnel: {connect: {server: 'a:1', server_id: abc}}\n", "1:46: server_id: id of 3 characters, want 52"},
		{"environment", "tunnel: {connect: {server: '${WHERE}:1'}}\n", "1:28: the environment has no WHERE"},

		{"no proof", client("hosts: [a]"), "client a: want an id or a token_sha256"},
		{"two proofs", client("id: " + someID + ", token_sha256: " + hashText), "client a: want an id or a token_sha256"},
		{"short hash", client("token_sha256: abcd"), "64 hexadecimal digits"},
		{"hash of nothing", client("token_sha256: " + hex.EncodeToString(sha256.New().Sum(nil))), "no token at all"},
		{"date", client("id: " + someID + ", expires: tomorrow"), "expires: parsing time"},
		{"everything", client("id: " + someID + `, hosts: ["*"]`), `host "*" is no name`},
		{"every name of a registry", client("id: " + someID + `, hosts: ["*.co.uk"]`), `every name under co.uk`},
		{"every name of a top domain", client("id: " + someID + `, hosts: ["*.com"]`), `every name under com`},
		{"ports", client("id: " + someID + `, ports: ["127.0.0.1:9-8"]`), "the first before the last"},
		{"port 0", client("id: " + someID + `, ports: ["127.0.0.1:0"]`), "1 to 65535"},
		{"protocol", client("id: " + someID + `, protos: [udp]`), `"udp" is none of http, tcp, sni`},
		{"markup", "tunnel:\n  clients:\n    - {name: '<b>', id: " + someID + "}\n", `"<b>" has more than letters`},
		{"twice", client("id: "+someID) + "    - {name: a, id: " + someID + "}\n", "4:7: client a is there twice"},

		{"no protocol", offered("addr: a:1"), "tunnel a needs proto"},
		{"no target", offered("proto: tcp, remote_addr: 'a:1'"), "tunnel a needs addr"},
		{"host of tcp", offered("proto: tcp, addr: 'a:1', remote_addr: 'a:1', host: b"), "3:54: tunnel a is of tcp, which has no host"},
		{"address of http", offered("proto: http, addr: 'a:1', host: b, remote_addr: 'a:1'"), "tunnel a is of http, which has no remote_addr"},
		{"auth of sni", offered("proto: sni, addr: 'a:1', host: b, auth: 'a:b'"), "tunnel a is of sni, which has no auth"},
		{"mode of http", offered("proto: http, addr: 'a:1', host: b, mode: direct"), "tunnel a is of http, which has no mode"},
		{"mode", offered("proto: sni, addr: 'a:1', host: b, mode: fast"), `"fast" is neither mux nor direct`},
		{"no host", offered("proto: sni, addr: 'a:1'"), "tunnel a is of sni, which needs host"},
		{"group of a name that is chosen", offered("proto: http, addr: 'a:1', group: web"), "tunnel a: a group needs a host"},
		{"group of a port that is chosen", offered("proto: tcp, addr: 'a:1', remote_addr: '127.0.0.1:0', group: web"), "3:62: tunnel a: a group needs a port"},
		{"group's name", offered("proto: sni, addr: 'a:1', host: b, group: 'a b'"), `"a b" has more than letters`},
		{"groups", client("id: " + someID + ", groups: [a, '*']"), `"*" has more than letters`},
		{"group of the original", "server_addr: a\ntunnels: {x: {proto: http, addr: 22, host: a, group: web}}\n", "unknown key group"},
		{"half of a password", offered("proto: http, addr: 'a:1', host: b, auth: a"), "want user:password"},
	} {
		s, err := read(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.what, s, err, c.want)
		}
	}
	// All at once.
	_, err := read("tunnel: {serve: {budget: 1, lease: 0s}, backoff: {interval: soon}}\n")
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("%v", err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"a.example", "a.example", true},
		{"a.example", "b.example", false},
		{"a.example", "x.a.example", false},
		{"*.a.example", "x.a.example", true},
		{"*.a.example", "*.a.example", true},
		{"*.a.example", "a.example", false},
		{"*.a.example", "x.y.a.example", false},
		{"*.a.example", ".a.example", false},
		{"*.a.example", "xa.example", false},
	} {
		if got := tunneld.Covers(c.pattern, c.host); got != c.want {
			t.Errorf("%s over %s: %v", c.pattern, c.host, got)
		}
	}
	r := tunneld.PortRange{Host: "127.0.0.1", First: 10, Last: 20}
	all := tunneld.PortRange{Host: "::1", First: 1, Last: 65535}
	for address, want := range map[string][2]bool{
		"127.0.0.1:10": {true, false}, "127.0.0.1:20": {true, false}, "127.0.0.1:21": {}, "127.0.0.1:9": {}, "127.0.0.1:0": {},
		"0.0.0.0:10": {}, ":10": {}, "[::ffff:127.0.0.1]:10": {true, false}, "[::1]:0": {false, true}, "[0:0::1]:99": {false, true}, "[::1]": {}, "x": {},
	} {
		if got := [2]bool{r.Covers(address), all.Covers(address)}; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(whole())
	f.Add("server_addr: a\ntunnels:\n\tx: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := read(text); (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
