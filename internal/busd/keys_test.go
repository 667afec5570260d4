package busd

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// settingsOf reads a configuration text.
func settingsOf(t testing.TB, text string) (*Settings, error) {
	t.Helper()
	root, err := natsconf.Sources{}.Parse("x.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := new(Settings)
	return s, s.apply(root)
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]func(*Settings){
		`listen: "10.0.0.1:4333"`: func(s *Settings) { s.Bus.Host, s.Bus.Port = "10.0.0.1", 4333 },
		`listen = 4333`:           func(s *Settings) { s.Bus.Port = 4333 },
		`LISTEN: ":4333"`:         func(s *Settings) { s.Bus.Port = 4333 },
		`host: h, port: -1`:       func(s *Settings) { s.Bus.Host, s.Bus.Port = "h", -1 },
		`net: h`:                  func(s *Settings) { s.Bus.Host = "h" },
		`server_name: a, client_advertise: "b:1"`:   func(s *Settings) { s.Bus.ServerName, s.Bus.Advertise = "a", "b:1" },
		`max_payload 2kb; max_pending 1MB`:          func(s *Settings) { s.Bus.MaxPayload, s.Bus.MaxPending = 2048, 1<<20 },
		`max_conn 3; max_subs 4; max_sub_tokens 5`:  func(s *Settings) { s.Bus.MaxConns, s.Bus.MaxSubs, s.Bus.MaxSubTokens = 3, 4, 5 },
		`max_connections -1; max_subscriptions 0`:   func(s *Settings) { s.Bus.MaxSubs = -1 },
		`max_control_line 1k, ping_max 3`:           func(s *Settings) { s.Bus.MaxControlLine, s.Bus.PingMax = 1000, 3 },
		`ping_interval "30s"; write_deadline: "1m"`: func(s *Settings) { s.Bus.PingInterval, s.Bus.WriteDeadline = 30*time.Second, time.Minute },
		`lame_duck_duration "1m", lame_duck_grace_period "2s"`: func(s *Settings) {
			s.Bus.LameDuckDuration, s.Bus.LameDuckGrace = time.Minute, 2*time.Second
		},
		`http 8222`: func(s *Settings) { s.HTTP.Port = 8222 },
		`http: "127.0.0.1:8222", http_base_path: "/m"`: func(s *Settings) { s.HTTP = Monitoring{Host: "127.0.0.1", Port: 8222, BasePath: "/m"} },
		`monitor_port -1`: func(s *Settings) { s.HTTP.Port = -1 },
		`https: "h:1"`:    func(s *Settings) { s.HTTP.Host, s.HTTP.TLSPort = "h", 1 },
		`pidfile a; ports_file_dir b; prof_port 6`: func(s *Settings) { s.PidFile, s.PortsDir, s.Profile = "a", "b", 6 },
		`log_file f; logfile_size_limit 1k; logfile_max_num 2; logtime false; logtime_utc on; debug yes; trace_verbose true`: func(s *Settings) {
			s.Log = Log{File: "f", MaxBytes: 1000, MaxFiles: 2, NoTime: true, UTC: true, Debug: true, Trace: true}
		},
		`syslog true; remote_syslog "udp://h:5"`: func(s *Settings) { s.Log.Syslog, s.Log.Remote = true, "udp://h:5" },
		`server_tags: ["a", "b"]`:                func(s *Settings) { s.Tags = []string{"a", "b"} },
		`x = 9; port = $x`:                       func(s *Settings) { s.Bus.Port = 9 },
		`disable_sublist_cache: true, no_system_account on, operator: false`: func(*Settings) {},
		`max_closed_clients 7; no_header_support true`:                       func(s *Settings) { s.Bus.MaxClosed, s.Bus.NoHeaders = 7, true },
		`websocket {port: -1, no_tls: true, same_origin: true, allowed_origins: "http://a", compression: true, handshake_timeout: "3s"}`: func(s *Settings) {
			s.Bus.WebSocket = &bus.WebSocket{Port: -1, SameOrigin: true, AllowedOrigins: []string{"http://a"}, Compression: true, HandshakeTimeout: 3 * time.Second}
			s.sameOriginGiven = true
		},
		`ws {listen: "h:99", no_tls: true}`: func(s *Settings) { s.Bus.WebSocket = &bus.WebSocket{Host: "h", Port: 99} },
		`websocket {host: h}`:               func(*Settings) {},
		`paddock {slow_consumers: drop-old, migrate_to: ["nats://a:4222"], deny: "fence.>", prefixes: [pos, events ], unix: "/run/x"}`: func(s *Settings) {
			s.Bus.SlowConsumers, s.Bus.MigrateTo, s.Bus.DenyPublish = bus.SlowDropOld, []string{"nats://a:4222"}, []string{"fence.>"}
			s.Bus.Prefixes, s.Bus.Unix = []string{"pos", "events"}, "/run/x"
		},
	} {
		got, err := settingsOf(t, text)
		wanted := new(Settings)
		want(wanted)
		if err != nil || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", text, got, err, wanted)
		}
	}
}

func TestAuthorization(t *testing.T) {
	public := &bus.Permissions{Subscribe: bus.SubjectPermission{Allow: []string{"pub.>"}}}
	for text, want := range map[string]func(*bus.Config){
		`authorization {user: a, pass: b, timeout: 1.5}`:  func(c *bus.Config) { c.Username, c.Password, c.AuthTimeout = "a", "b", 1500*time.Millisecond },
		`authorization {username: a, password: $2a$11$x}`: func(c *bus.Config) { c.Username, c.Password = "a", "$2a$11$x" },
		`authorization {token: t, timeout: "3s"}`:         func(c *bus.Config) { c.Token, c.AuthTimeout = "t", 3*time.Second },
		`authorization {users: [{user: a, pass: b}, {nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4}]}, no_auth_user: a`: func(c *bus.Config) {
			c.Users = []bus.User{{Name: "a", Password: "b"}, {NKey: "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"}}
			c.NoAuthUser = "a"
		},
		`authorization { P = {publish: [a, "b.*" ], subscribe: {allow: "x.> q.*", deny: [y ]}, allow_responses: {max: 5, expires: "1m"}}
		  users: [{user: a, pass: b, permissions: $P, allowed_connection_types: [websocket, "STANDARD"]}
		          {user: c, pass: d}]
		  default_permissions: {sub: "pub.>"} }`: func(c *bus.Config) {
			c.Users = []bus.User{{
				Name: "a", Password: "b", Connections: []bus.ConnectionType{"WEBSOCKET", "STANDARD"},
				Permissions: &bus.Permissions{
					Publish:        bus.SubjectPermission{Allow: []string{"a", "b.*"}},
					Subscribe:      bus.SubjectPermission{Allow: []string{"x.> q.*"}, Deny: []string{"y"}},
					AllowResponses: &bus.ResponsePermission{Max: 5, Expires: time.Minute},
				},
			}, {Name: "c", Password: "d", Permissions: public}}
		},
		`authorization {user: a, pass: b, permissions: {sub: "pub.>"}}`: func(c *bus.Config) { c.Username, c.Password, c.Permissions = "a", "b", nil },
		`accounts { APP { users: [{user: a, pass: b}], default_permissions {sub: "pub.>"}, exports: [] }, $SYS { users: [{user: s, pass: s}] }, EMPTY {} }`: func(c *bus.Config) {
			c.Account = "APP"
			c.Users = []bus.User{{Name: "a", Password: "b", Permissions: public}}
		},
		`system_account: S, accounts { S { users: [{user: s, pass: s}] }, A { users: [{user: a, pass: b}]} }`: func(c *bus.Config) {
			c.Account, c.Users = "A", []bus.User{{Name: "a", Password: "b"}}
		},
		`accounts { $SYS { users: [{user: s, pass: s}] } }`: func(*bus.Config) {},
		`authorization {users: [{user: a, pass: b, permissions: {allow_responses: true}}]}`: func(c *bus.Config) {
			c.Users = []bus.User{{Name: "a", Password: "b", Permissions: &bus.Permissions{AllowResponses: &bus.ResponsePermission{}}}}
		},
	} {
		got, err := settingsOf(t, text)
		var wanted bus.Config
		want(&wanted)
		if err != nil || !reflect.DeepEqual(got.Bus, wanted) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", text, got.Bus, err, wanted)
		}
	}
}

// What is wrong is told with its place, and all of it.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"prt: 1":                                        `x.conf:1:1: unknown field "prt"`,
		"port: 1\n  foo { }\n tls { bar: 1 }":           "x.conf:2:3: unknown field \"foo\"\nx.conf:3:8: unknown field \"bar\"",
		`port: "x"`:                                     "x.conf:1:1: port takes an integer, not a string",
		"port: 70000":                                   "there is no port 70000",
		`listen: "nowhere"`:                             `listen takes a port or "host:port", not "nowhere"`,
		"max_payload: -1":                               "max_payload cannot be -1",
		`ping_interval: "soon"`:                         "ping_interval is no duration",
		`ping_interval: "-1s"`:                          "ping_interval is no duration",
		"write_deadline: true":                          "write_deadline takes a string, not a boolean",
		"server_name: 'a b'":                            "server_name cannot contain spaces",
		"server_tags: [1 ]":                             "server_tags takes strings, not an integer",
		`authorization {user: a, passs: b}`:             `unknown field "passs"`,
		`authorization {token: ""}`:                     "token is empty",
		`authorization {token: t, user: a}`:             "a token or a user with a password, not both",
		`authorization {token: t, users: [{user: a}]}`:  "one user or token, or several users, not both",
		`authorization {users: [{user: a}, {user: a}]}`: `there are two users "a"`,
		`authorization {users: [{pass: a}]}`:            "a user needs a name or an nkey",
		`authorization {users: [{nkey: UX}]}`:           "the nkey is no public key of a user",
		`authorization {users: [{nkey: UX, user: a}]}`:  "an nkey, or a name and a password, not both",
		`authorization {users: [{user: a, permissions: {publish: "a..b"}}]}`:     `"a..b" is no pattern of subjects`,
		`authorization {users: [{user: a, permissions: {publish: "a q"}}]}`:      `"a q" is no pattern of subjects`,
		`authorization {users: [{user: a, permissions: {sub: {alow: "a"}}}]}`:    `unknown field "alow"`,
		`authorization {users: [{user: a, allowed_connection_types: [pigeon]}]}`: `unknown connection type "PIGEON"`,
		`authorization {auth_callout: {issuer: x}}`:                              "auth_callout is not supported, and to ignore it would weaken security",
		`operator: x`:      "operator is not supported",
		`resolver: MEMORY`: "resolver is not supported",
		`no_auth_user: x`:  `no_auth_user: there is no user "x"`,
		`accounts {A {users: [{user: a}]}, B {users: [{user: b}]}}`:             "several accounts are not supported: their users would see each other's messages",
		"authorization {users: [{user: c}]}, accounts {A {users: [{user: a}]}}": "several accounts",
		`tls {verify: true}`:                                  "TLS Server certificate must be present and valid",
		`tls {cert_file: x}`:                                  "TLS Server private key must be present and valid",
		`tls {cert_file: x, key_file: y}`:                     "open x",
		`tls {pinned_certs: [abc ]}`:                          `"abc" is no SHA-256`,
		`tls {min_version: "1.1"}`:                            `min_version is "1.2" or "1.3", not "1.1"`,
		`tls {cipher_suites: [X ]}`:                           `"X" is unknown or insecure`,
		`websocket {port: 80}`:                                "websocket requires TLS configuration",
		`websocket {port: 80, no_tls: true, token_cookie: x}`: "token_cookie is not supported",
		`paddock {slow_consumers: wait}`:                      "slow_consumers is one of close, drop-new, drop-old, stall",
		`paddock {wings: 2}`:                                  `unknown field "wings"`,
	} {
		if _, err := settingsOf(t, text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.conf:") {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// What does not exist here and weakens nothing is taken, with a word about it.
func TestWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"cluster: false, jetstream: false":                        "",
		"mqtt {port: 1}":                                          "mqtt is ignored",
		"ping_interval: 30":                                       `ping_interval is better written as a duration, such as "30s"`,
		"authorization {users: []}":                               "authorization names nobody",
		"accounts {$SYS {users: [{user: a}]}}":                    "the users of $SYS cannot connect",
		"accounts {A {users: [{user: a}], limits {max_conn: 1}}}": "limits is ignored",
	} {
		s, err := settingsOf(t, text)
		if got := strings.Join(s.Warnings, "\n"); err != nil || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// What keeps messages or takes them elsewhere is refused, unless the operator knows.
func TestPromisesAreRefused(t *testing.T) {
	for _, text := range []string{
		"cluster {port: 1}", `leafnodes {listen: "127.0.0.1:-1"}`, "jetstream: true", "jetstream {}", "JetStream {store_dir: x}",
		"mappings {a: b}", "accounts {A {users: [{user: a}], jetstream: enabled}}",
	} {
		_, err := settingsOf(t, text)
		if err == nil || !strings.Contains(err.Error(), "messages would be lost or go elsewhere; --ignore ") {
			t.Errorf("%s: %v", text, err)
		}
		s := &Settings{Ignore: []string{"jetstream", "cluster", "leafnodes", "mappings"}}
		root, err := natsconf.Sources{}.Parse("x.conf", []byte(text))
		if err == nil {
			err = s.apply(root)
		}
		if err != nil || !strings.Contains(strings.Join(s.Warnings, "\n"), "is ignored: there is no such feature here") {
			t.Errorf("%s: %q, %v", text, s.Warnings, err)
		}
	}
}

// JetStream that a file switches off promises nothing, in each way to say so.
func TestJetStreamMayBeOff(t *testing.T) {
	for _, text := range []string{"jetstream: false", "jetstream: disabled", "jetstream: Disable", "jetstream {enabled: false, store_dir: x}"} {
		if s, err := settingsOf(t, text); err != nil || len(s.Warnings) > 0 {
			t.Errorf("%s: %q, %v", text, s.Warnings, err)
		}
	}
	if _, err := settingsOf(t, "operator: disabled"); err == nil {
		t.Error("a word switches off what decides who may do what")
	}
}

// A file that does not parse is refused with the words that tools look for.
func TestAParseErrorSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(file, []byte("port: 4222\na {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Source{File: file}).Load(); err == nil || !strings.Contains(err.Error(), "Parse error") || !strings.Contains(err.Error(), "x.conf:2:") {
		t.Error(err)
	}
}

// Where no credentials are asked for, WebSocket takes pages of its own origin only.
func TestOriginsOfWebSocket(t *testing.T) {
	flag := func(s *Settings) { s.SetWebSocket(-1) }
	with := func(origins ...string) Override { return func(s *Settings) { s.Origins = origins } }
	token := func(s *Settings) { s.SetToken("t") }
	for _, c := range []struct {
		name  string
		file  string
		flags []Override
		same  bool
		allow []string
	}{
		{"flag", "", []Override{flag}, true, nil},
		{"with credentials", "", []Override{flag, token}, false, nil},
		{"of a file", "websocket {port: -1, no_tls: true}", nil, true, nil},
		{"of a file that says otherwise", "websocket {port: -1, no_tls: true, same_origin: false}", nil, false, nil},
		{"listed in a file", `websocket {port: -1, no_tls: true, allowed_origins: ["https://a.org"]}`, nil, false, []string{"https://a.org"}},
		{"listed", "", []Override{flag, with("https://a.org")}, false, []string{"https://a.org"}},
		{"any", "", []Override{flag, with("*")}, false, nil},
	} {
		file := filepath.Join(t.TempDir(), "x.conf")
		if err := os.WriteFile(file, []byte(c.file+"\nport: -1"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Source{File: file, Overrides: c.flags}.Load()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if w := s.Bus.WebSocket; w.SameOrigin != c.same || !slices.Equal(w.AllowedOrigins, c.allow) {
			t.Errorf("%s: same origin %t, allowed %q", c.name, w.SameOrigin, w.AllowedOrigins)
		}
	}
}

// Flags go over the file; credentials of one kind over those of another.
func TestFlagsGoOverTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.conf")
	text := "port: 5000, server_name: file, authorization {users: [{user: a, pass: b}]}, no_auth_user: a"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parseFlags([]string{"-p", "6000", "--user=u", "-pass", "p", "-c", file, "-DV", "-js=false", "-sd", "x"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Source{Defaults: open, File: c.file, Overrides: c.overrides}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if s.Bus.Port != 6000 || s.Bus.ServerName != "file" || s.Bus.Username != "u" || s.Bus.Password != "p" ||
		s.Bus.Users != nil || s.Bus.NoAuthUser != "" || !s.Log.Debug || !s.Log.Trace {
		t.Errorf("got %+v", s)
	}
	if s.Bus.Host != "0.0.0.0" || s.HTTP.Host != "0.0.0.0" || len(s.Warnings) != 1 {
		t.Errorf("listens on %q and %q, warnings %q", s.Bus.Host, s.HTTP.Host, s.Warnings)
	}
}

func TestWhereItMayListen(t *testing.T) {
	for _, tc := range []struct {
		set  func(*Settings)
		want string
	}{
		{func(*Settings) {}, ""},
		{func(s *Settings) { s.Bus.Host = "0.0.0.0" }, "refusing to listen beyond this machine"},
		{func(s *Settings) { s.Bus.Host, s.Bus.AllowOpen = "0.0.0.0", true }, ""},
		{func(s *Settings) { s.Bus.Host, s.Bus.Token = "0.0.0.0", "t" }, ""},
		{func(s *Settings) { s.HTTP.Host, s.HTTP.Port = "0.0.0.0", 1 }, "monitoring on 0.0.0.0"},
		{func(s *Settings) { s.HTTP.Host, s.HTTP.Port, s.Bus.Token = "0.0.0.0", 1, "t" }, ""},
		{func(s *Settings) { s.HTTP.Port, s.HTTP.TLSPort = 1, 2 }, "can't specify both HTTP (1) and HTTPs (2) ports"},
		{func(s *Settings) { s.HTTP.TLSPort = 2 }, "TLS cert and key required for HTTPS"},
		{func(s *Settings) { s.Bus.MaxPayload, s.Bus.MaxPending = 2, 1 }, "max_payload (2) cannot be higher than max_pending (1)"},
	} {
		s, err := Source{Overrides: []Override{tc.set}}.Load()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", s.Bus, err, tc.want)
		}
		if s.HTTP.Host == "" {
			t.Error("no place for monitoring")
		}
	}
}

// FuzzSettings: no text makes the keys' meaning panic.
func FuzzSettings(f *testing.F) {
	f.Add(`authorization {users: [{user: a, permissions: {sub: "a q"}}]}, websocket {port: 1}`)
	f.Add(`tls {certs: [{cert_file: a}], handshake_first: "1s"} accounts {A {users: [1 ]}}`)
	f.Add(`ping_interval 1e, paddock {migrate_to: ["://"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := natsconf.Sources{ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }}
		if root, err := s.Parse("x", []byte(text)); err == nil {
			_ = new(Settings).apply(root) // an error is as good as none
		}
	})
}
