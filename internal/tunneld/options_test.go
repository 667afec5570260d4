package tunneld_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
)

// Every field of the settings is set by some key of the file. A field that no key sets is an option
// that cannot be used, and a key that sets no field would show here as zero.
func TestEveryOptionIsRead(t *testing.T) {
	const serve = "tunnel:\n  serve: {listen: 'a:1', http: 'a:2', tls: 'a:3', tls_crt: c, tls_key: k, key: s, budget: 2MiB, lease: 1s, admin: 'a:4', admin_token: t, plaintext: on, control: c, access_log: all, http2: off, limits: {queue: 3}, trusted_proxies: [10.0.0.0/8], proxy_protocol_from: [10.0.0.0/8]}\n"
	s, err := read(serve + `  clients:
    - {name: a, id: ` + someID + `, hosts: [a.example], ports: ["127.0.0.1:1-2"], protos: [http], groups: [g], max_inflight: 3, admin: true, expires: 2027-01-01T00:00:00Z}
    - {name: b, token_id: c, token_sha256: ` + hashText + `}
  connect: {server: 'a:5', server_id: ` + someID + `, root_ca: r, key: k, cert: c, token_file: t, budget: 2MiB, connections: 3, plaintext: on, admin: 'a:6', admin_token: t, inspect: '127.0.0.1:4040'}
  backoff: {interval: 1s, max_interval: 2s, max_time: 3s}
`)
	if err != nil {
		t.Fatal(err)
	}
	id, token := s.Clients[0], s.Clients[1]
	if token.TokenID != "c" {
		t.Errorf("token_id: %q", token.TokenID)
	}
	id.TokenHash, id.TokenID = token.TokenHash, token.TokenID // a client has one proof of the two
	for _, part := range []any{s.Serve, id, s.Connect, s.Backoff} {
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("nothing sets %s.%s", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
}

// The bounds of a tunnel and of a client reach the sessions that they apply to.
func TestEveryOptionOfATunnelIsUsed(t *testing.T) {
	s, err := read("tunnel: {tunnels: {web: {proto: http, addr: a, host: a.example, path: /x, auth: 'a:b', host_header: h, response_timeout: 1s, max_inflight: 1, group: g}," +
		" raw: {proto: tcp, addr: a, remote_addr: 'a:7', proxy_protocol: on, mode: direct}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	web, raw := s.Tunnels[0], s.Tunnels[1]
	web.Remote, web.ProxyProtocol, web.Direct = raw.Remote, raw.ProxyProtocol, raw.Direct // a tunnel is not of two kinds
	v := reflect.ValueOf(web)
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Dial", "DialTimeout", "TLS": // for programs
		default:
			if v.Field(i).IsZero() {
				t.Errorf("nothing of the file reaches %s", name)
			}
		}
	}
}

// The files that the settings name are looked for beside the configuration, each of them.
func TestEveryFileIsLookedForBesideTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	key, err := keyid.Make(filepath.Join(dir, "any"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "paddock.yaml")
	text := "tunnel:\n  serve: {tls_crt: f1, tls_key: f2, key: f3, control: f4}\n  clients: [{name: a, id: " + key.ID.String() + "}]\n" +
		"  connect: {server: 'a:1', root_ca: f5, key: f6, cert: f7, token_file: f8}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := tunneld.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.Serve.Cert, s.Serve.Key, s.Serve.Identity, s.Serve.Control, s.Connect.RootCA, s.Connect.Key, s.Connect.Cert, s.Connect.TokenFile} {
		if !strings.HasPrefix(path, dir) {
			t.Errorf("%s is not beside %s", path, file)
		}
	}
}
