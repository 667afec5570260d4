package platform_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"paddock/internal/busd"
	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
)

// busSite is a platform with a configuration file, of which it reads the section bus again.
type busSite struct {
	*running
	t     *testing.T
	dir   string
	again chan os.Signal
	keys  []keyring.Key
	log   lockedBuffer
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// write writes the file with a section bus, its lines indented.
func (s *busSite) write(section string) {
	s.t.Helper()
	writeOver(s.t, filepath.Join(s.dir, "paddock.yaml"), "bus:\n  listen: 127.0.0.1:0\n"+section)
}

// load reads the file as `paddock up` does.
func (s *busSite) load() (cfg *config.Config, file *busd.Settings, err error) {
	cfg, err = config.Load(config.Sources{
		File: filepath.Join(s.dir, "paddock.yaml"), Environ: []string{"RED_PASSWORD=1234", "HQ_TOKEN=5678"},
		Extras: map[string]config.Extra{"bus": platform.BusKeys(&file, s.dir)},
	})
	if err == nil {
		err = platform.CheckBus(cfg, file)
	}
	return cfg, file, err
}

func newBusSite(t *testing.T, section string) *busSite {
	s := &busSite{t: t, dir: t.TempDir(), again: make(chan os.Signal)}
	s.write(section)
	return s
}

// start runs the platform with the file, and with a key named dispatch.
func (s *busSite) start(keys ...keyring.Key) {
	s.t.Helper()
	cfg, file, err := s.load()
	if err != nil {
		s.t.Fatal(err)
	}
	cfg.Data.Dir, cfg.Access.Keys = "", keys
	s.keys = keys
	s.running = startWith(s.t, platform.Options{
		Config: cfg, Catalog: square(s.t), Bus: file, Reread: s.reread, Rereads: s.again, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
}

func (s *busSite) reread() (*platform.Reread, error) {
	cfg, file, err := s.load()
	if err != nil {
		return nil, err
	}
	return &platform.Reread{Keys: s.keys, Config: cfg, Bus: file}, nil
}

// reload has the file read, and waits until that is done.
func (s *busSite) reload() {
	s.again <- os.Interrupt
	s.again <- os.Interrupt // which is taken after the first one
}

// certificate puts a new certificate in place, and returns a pool that trusts it.
func (s *busSite) certificate() *x509.CertPool {
	s.t.Helper()
	scratch := config.Default()
	trust := certify(s.t, scratch)
	for from, to := range map[string]string{scratch.Wire.Cert: "cert.pem", scratch.Wire.Key: "key.pem"} {
		if err := os.Rename(from, filepath.Join(s.dir, to)); err != nil {
			s.t.Fatal(err)
		}
	}
	return trust
}

// dial connects to the bus once. The client reports refusals by LastError.
func (s *busSite) dial(url string, o ...nats.Option) (*nats.Conn, error) {
	o = append(o, nats.NoReconnect(), nats.Timeout(patience), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	nc, err := nats.Connect(url, o...)
	if err == nil {
		s.t.Cleanup(nc.Close)
	}
	return nc, err
}

func (s *busSite) connect(url string, o ...nats.Option) *nats.Conn {
	s.t.Helper()
	nc, err := s.dial(url, o...)
	if err != nil {
		s.t.Fatal(err)
	}
	return nc
}

// publishes reports whether a client may publish on a subject.
func (s *busSite) publishes(nc *nats.Conn, subject string) bool {
	s.t.Helper()
	before := nc.LastError()
	if err := errors.Join(nc.Publish(subject, []byte("{}")), nc.FlushTimeout(patience)); err != nil {
		s.t.Fatal(err)
	}
	after := nc.LastError()
	if after != before && !errors.Is(after, nats.ErrPermissionViolation) {
		s.t.Error(after)
	}
	return after == before
}

// The section has what a file of paddock bus has: TLS, users with permissions, nkeys, web pages and
// monitoring. Keys are further users, and what holds on every platform holds for all of them.
func TestBusSection(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	s := newBusSite(t, "")
	trust := s.certificate()
	s.write(`  tls: &none
`)
	if _, _, err := s.load(); err == nil {
		t.Error("an anchor is taken")
	}
	s.write(fmt.Sprintf(`  tls: {cert_file: cert.pem, key_file: key.pem, timeout: 30}
  authorization:
    timeout: 30
    users:
      - user: red
        password: ${RED_PASSWORD}
        permissions: {publish: [pos.red.>], subscribe: [fence.zone.>, _INBOX.>]}
      - nkey: %s
        permissions: {publish: {deny: [pos.>]}}
      - {user: open, password: "1"}
  websocket: {port: -1, tls: {cert_file: cert.pem, key_file: key.pem}, handshake_timeout: 30}
  https: 127.0.0.1:-1
  server_tags: [depot]
  max_subscriptions: 2
  paddock: {slow_consumers: drop-old, deny: [private.>]}
`, public))
	s.start(keyring.Key{Name: "dispatch", SHA256: keyring.DigestOf("key of dispatch"), Verbs: []string{"positions:write"}})
	url, secure := s.BusURL(), nats.Secure(&tls.Config{RootCAs: trust})
	if !strings.HasPrefix(url, "tls://") {
		t.Error(url)
	}
	if _, err := s.dial(url, nats.UserInfo("red", "1234")); err == nil {
		t.Error("a certificate that is not trusted is taken")
	}
	for name, o := range map[string]nats.Option{"nothing": nats.Name(""), "a wrong password": nats.UserInfo("red", "123"), "no key": nats.Token("x")} {
		if _, err := s.dial(url, secure, o); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	red := nats.UserInfo("red", "1234")
	web := "wss://" + s.WebSocketAddr().String()
	clients := map[string]*nats.Conn{
		"red":     s.connect(url, secure, red),
		"web red": s.connect(web, secure, red),
		"nkey":    s.connect(url, secure, nats.Nkey(public, pair.Sign)),
		"open":    s.connect(url, secure, nats.UserInfo("open", "1")),
		"key":     s.connect(url, secure, nats.Token("key of dispatch")),
	}
	for name, may := range map[string]map[string]bool{
		"red":     {"pos.red.7": true, "pos.blue.7": false, "fence.zone.x": false},
		"web red": {"pos.red.7": true, "pos.blue.7": false},
		"nkey":    {"pos.red.7": false, "chat": true, "fence.zone.x": false, "private.x": false},
		"open":    {"pos.blue.7": true, "fence.zone.x": false, "private.x": false},
		"key":     {"pos.blue.7": true, "chat": false, "fence.zone.x": false},
	} {
		for subject, want := range may {
			if got := s.publishes(clients[name], subject); got != want {
				t.Errorf("%s publishes on %s: %t", name, subject, got)
			}
		}
	}
	events, err := clients["web red"].SubscribeSync("fence.zone.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := clients["web red"].FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	for i, x := range []float64{-1, 0.5} {
		body := fmt.Sprintf(`{"lon":%g,"lat":0.5,"t":"2026-01-01T00:00:0%dZ"}`, x, i)
		if answer, err := clients["red"].Request("pos.red.7", []byte(body), patience); err != nil || !strings.Contains(string(answer.Data), `"accepted":1`) {
			t.Fatal(err, answer)
		}
	}
	if m, err := events.NextMsg(patience); err != nil || !strings.HasSuffix(m.Subject, ".enter.red.7") {
		t.Error(m, err)
	}
	s.boundOfSubscriptions(clients["open"])
	s.monitored(trust)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trust}}}
	s.signal()
	s.awaitEnd()
	if res, err := client.Get(s.MonitorURL() + "/healthz"); err == nil {
		res.Body.Close()
		t.Error("monitoring goes on after the end")
	}
}

// boundOfSubscriptions expects a third subscription to be refused.
func (s *busSite) boundOfSubscriptions(nc *nats.Conn) {
	s.t.Helper()
	for range 3 {
		if _, err := nc.SubscribeSync("chat"); err != nil {
			s.t.Fatal(err)
		}
	}
	_ = nc.FlushTimeout(patience) // the connection may be closed
	if err := nc.LastError(); err == nil || !strings.Contains(strings.ToLower(err.Error()), "maximum subscriptions") {
		s.t.Errorf("a third subscription: %v", err)
	}
}

// monitored expects the figures of the bus at its own port.
func (s *busSite) monitored(trust *x509.CertPool) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trust}}}
	res, err := client.Get(s.MonitorURL() + "/varz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var varz struct {
		Name     string   `json:"server_name"`
		Required bool     `json:"auth_required"`
		Tags     []string `json:"tags"`
		Received int      `json:"in_msgs"`
	}
	if err := json.NewDecoder(res.Body).Decode(&varz); err != nil || varz.Name != "paddock" || !varz.Required || len(varz.Tags) != 1 || varz.Received == 0 {
		s.t.Errorf("%+v, %v", varz, err)
	}
}

// A reload changes permissions, users and certificates while clients stay connected. A file with
// a fault changes nothing.
func TestBusSectionIsReadAgain(t *testing.T) {
	s := newBusSite(t, "")
	first := s.certificate()
	section := func(subject, more string) string {
		return `  tls: {cert_file: cert.pem, key_file: key.pem, timeout: 30}
  https: 127.0.0.1:-1
  authorization:
    timeout: 30
    users:
      - {user: red, password: r, permissions: {publish: [` + subject + `]}}
` + more
	}
	s.write(section("a", "      - {user: gone, password: g}\n"))
	s.start(keyring.Key{Name: "dispatch", SHA256: keyring.DigestOf("key of dispatch"), Verbs: []string{"positions:write"}})
	dial := func(trust *x509.CertPool, o nats.Option) (*nats.Conn, error) {
		return s.dial(s.BusURL(), nats.Secure(&tls.Config{RootCAs: trust}), o)
	}
	must := func(nc *nats.Conn, err error) *nats.Conn {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return nc
	}
	red, key := must(dial(first, nats.UserInfo("red", "r"))), must(dial(first, nats.Token("key of dispatch")))
	gone := make(chan struct{})
	must(dial(first, nats.UserInfo("gone", "g"))).SetClosedHandler(func(*nats.Conn) { close(gone) })

	for text, want := range map[string]string{
		section("b", "  jetstream: true\n"):       "paddock.yaml:9:3: jetstream is not supported",
		section("b", "  websocket: {port: 1}\n"):  "paddock.yaml:9:3: websocket requires TLS configuration",
		"  tls: {cert_file: no.pem, key_file: k}": "no.pem: no such file",
	} {
		s.write(text)
		s.reload()
		if log := s.log.String(); !strings.Contains(log, "the bus keeps the settings that it had") && !strings.Contains(log, "everything stays as it was") || !strings.Contains(log, want) {
			t.Errorf("%s: the log has no %q:\n%s", text, want, log)
		}
		if !s.publishes(red, "a") || s.publishes(red, "b") {
			t.Fatalf("%s: the permissions have changed", text)
		}
	}

	second := s.certificate()
	s.write(section("b", "  server_tags: [depot]\n"))
	s.reload()
	if s.publishes(red, "a") || !s.publishes(red, "b") || !s.publishes(key, "pos.a.b") {
		t.Error("the permissions are not those of the new file")
	}
	<-gone
	if _, err := dial(first, nats.UserInfo("red", "r")); err == nil {
		t.Error("the certificate is the old one")
	}
	must(dial(second, nats.UserInfo("red", "r")))
	s.monitored(second)

	s.signal()
	s.awaitEnd()
	s.running = startWith(t, s.Taken())
	if red := must(dial(second, nats.UserInfo("red", "r"))); s.publishes(red, "a") || !s.publishes(red, "b") {
		t.Error("a platform in the place of this one has other permissions")
	}
}

// Keys end as ever, and with the credentials of the section they are not asked for on loopback.
func TestKeysBesideUsersOfTheBus(t *testing.T) {
	s := newBusSite(t, `  no_auth_user: guest
  authorization:
    users:
      - {user: guest, permissions: {publish: [chat]}}
      - {user: red, password: r}
`)
	s.start()
	add := func() string {
		var added struct{ Secret string }
		status, answer, err := s.call(http.MethodPost, "v1/keys", "application/json", []byte(`{"name":"dispatch","verbs":["positions:write"]}`))
		if err != nil || status >= 300 || json.Unmarshal(answer, &added) != nil {
			t.Fatal(status, string(answer), err)
		}
		return added.Secret
	}
	guest, red, ended := s.connect(s.BusURL()), s.connect(s.BusURL(), nats.UserInfo("red", "r")), make(chan struct{})
	secret := add()
	key := s.connect(s.BusURL(), nats.Token(secret), nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
	if !s.publishes(key, "pos.a.b") || s.publishes(key, "chat") || !s.publishes(guest, "chat") || s.publishes(guest, "pos.a.b") || !s.publishes(red, "pos.a.b") {
		t.Error("wrong permissions")
	}
	s.write("  authorization: {users: [{user: red, password: r}, {user: blue, password: b}]}\n")
	s.reload()
	if !s.publishes(key, "pos.a.b") || s.publishes(key, "chat") {
		t.Error("a reload changes what a key may do")
	}
	if status, answer, err := s.call(http.MethodDelete, "v1/keys/dispatch", "", nil); err != nil || status >= 300 {
		t.Fatal(status, string(answer), err)
	}
	<-ended
	if _, err := s.dial(s.BusURL(), nats.Token(secret)); !errors.Is(err, nats.ErrAuthorization) {
		t.Error(err)
	}
	s.connect(s.BusURL(), nats.UserInfo("blue", "b")) // a change of keys does not bring the old users back
}

// What cannot be is refused before anything starts, with its place.
func TestFaultsOfTheBusSection(t *testing.T) {
	for section, want := range map[string]string{
		"  authorization: {users: [{user: a, passs: b}]}\n":   `paddock.yaml:3:37: unknown field "passs"`,
		"  authorization: {token: 12}\n":                      "paddock.yaml:3:19: token takes a string, not an integer",
		"  authorization: {users: [{user: a, password: }]}\n": "password has no value",
		"  authorization: {token: t}\n  token: u\n":           "paddock.yaml:4:3: bus.token: paddock.yaml:3:3: bus.authorization has credentials too",
		"  authorization: {users: [{user: \"key:a\"}]}\n":     `paddock.yaml:3:3: bus.authorization: user "key:a": names that begin with key: are those of keys`,
		"  jetstream: true\n":                                 "paddock.yaml:3:3: jetstream is not supported, and without it messages would be lost or go elsewhere\n",
		"  operator: x\n":                                     "paddock.yaml:3:3: operator is not supported, and to ignore it would weaken security",
		"  host: 127.0.0.1\n":                                 "paddock.yaml:3:3: host is a setting of paddock bus alone; set bus.listen",
		"  pid_file: x\n":                                     "paddock.yaml:3:3: pid_file is a setting of paddock bus alone",
		"  paddock: {migrate_to: []}\n":                       "migrate_to is a setting of paddock bus alone",
		"  paddock: {slow_consumers: wait}\n":                 "slow_consumers is one of close, drop-new, drop-old, stall",
		"  paddock: {deny: [a..b]}\n":                         `"a..b" is no pattern of subjects`,
		"  paddock: {prefixes: [a..b]}\n":                     `paddock.yaml:3:3: bus.paddock: "a..b" is no prefix of subjects`,
		"  max_subscription: 1\n":                             "unknown key bus.max_subscription; did you mean bus.max_subscriptions?",
		"  tls: {cert_file: no.pem, key_file: no.pem}\n":      "no.pem: no such file or directory",
		"  https: 127.0.0.1:-1\n":                             "paddock.yaml:3:3: bus.https: TLS cert and key required for HTTPS",
		"  http: 0.0.0.0:8222\n":                              "paddock.yaml:3:3: bus.http: bus: refusing to listen beyond loopback without authentication: monitoring on 0.0.0.0",
		"  websocket: {port: 1}\n":                            "paddock.yaml:3:3: websocket requires TLS configuration",
		"  no_auth_user: a\n  authorization: {users: [{user: a}]}\n  websocket: {listen: \"0.0.0.0:1\", no_tls: true}\n": "paddock.yaml:3:3: bus.no_auth_user: clients without credentials cannot be let in",
		"  websocket: {port: -1, no_tls: true, allowed_origins: [\"/\"]}\n":                                              "paddock.yaml:3:3: bus.websocket: ",
	} {
		if _, _, err := newBusSite(t, section).load(); err == nil || !strings.Contains(err.Error()+"\n", want) || !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%s: %v\nwant %s", section, err, want)
		}
	}
}

// Listening beyond loopback takes users of the section, a token, or keys.
func TestUsersOpenTheBusToOthers(t *testing.T) {
	for section, want := range map[string]string{
		"": "is every interface; set bus.token, bus.user and bus.password, or bus.authorization",
		"  authorization: {users: [{user: a, password: b}]}\n":                    "",
		"  authorization: {user: a, password: b}\n":                               "",
		"  authorization: {users: [{user: a, password: b}]}\n  no_auth_user: a\n": "is every interface",
		"  max_subscriptions: 1\n":                                                "is every interface",
	} {
		s := newBusSite(t, section)
		text := "data: {dir: off}\nbus:\n  listen: 0.0.0.0:0\n" + section
		writeOver(t, filepath.Join(s.dir, "paddock.yaml"), text)
		if _, _, err := s.load(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The sections of the guide and of the example are valid.
func TestDocumentedBusSections(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guides/bus.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(guide), "```yaml\nbus:\n")
	block, _, _ = strings.Cut(block, "```")
	example, err := os.ReadFile("../../docs/reference/paddock.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(example), "  # tls: ")
	rest, _, _ = strings.Cut("\n  # tls: "+rest, "\n\n")
	for name, section := range map[string]string{"guide": block, "example": strings.ReplaceAll(rest, "\n  # ", "\n  ")} {
		s := newBusSite(t, "")
		s.certificate()
		for from, to := range map[string]string{"cert.pem": "bus.pem", "key.pem": "bus.key"} {
			if err := os.Rename(filepath.Join(s.dir, from), filepath.Join(s.dir, to)); err != nil {
				t.Fatal(err)
			}
		}
		writeOver(t, filepath.Join(s.dir, "paddock.yaml"), "bus:\n"+section)
		cfg, file, err := s.load()
		if err != nil || file == nil || !cfg.Bus.Users || len(file.Bus.Users) != 2 || file.Bus.TLS == nil || file.Bus.WebSocket == nil || file.HTTP.TLSPort != 8222 || len(file.Bridges) != 1 || file.Bridges[0].Token != "5678" || len(file.Warnings) > 0 {
			t.Errorf("%s: %v, %+v", name, err, file)
		}
	}
}
