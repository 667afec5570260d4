package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/strictyaml"
)

// load reads a file with this text.
func load(t *testing.T, text string, s Sources) (*Config, error) {
	t.Helper()
	s.File = filepath.Join(t.TempDir(), "paddock.yaml")
	if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(s)
}

// The example file shows every key with its default.
func TestTheExampleIsTheDefault(t *testing.T) {
	c, err := Load(Sources{File: "../../../docs/reference/paddock.example.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings(c) {
		if c.origins[s.key] == "" {
			t.Errorf("%s is not in the example", s.key)
		}
	}
	c.origins = nil
	if want := Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestDefaultsAreValid(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "---\n", "http:\n", "log: {}\n"} {
		c, err := load(t, text, Sources{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		c.origins = nil
		if !reflect.DeepEqual(c, Default()) {
			t.Errorf("%q: got %+v", text, c)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := "http: {listen: '127.0.0.1:1', profile: true}\nlog:\n  level: warn\n"
	env := []string{"PADDOCK_HTTP_LISTEN=127.0.0.1:2", "PADDOCK_LOG_LEVEL=error", "PADDOCK_BUS_USER=", "HOME=/"}
	flags := map[string]string{"http.listen": "127.0.0.1:3"}
	c, err := load(t, file, Sources{Environ: env, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ from, got, want string }{
		{"flag", c.HTTP.Listen, "127.0.0.1:3"},
		{"environment", c.Log.Level, "error"},
		{"file", fmt.Sprint(c.HTTP.Profile), "true"},
		{"default", c.Bus.Listen, "127.0.0.1:4222"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.from, tc.got, tc.want)
		}
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}
}

func TestValues(t *testing.T) {
	c, err := load(t, `
bus:
  user: no                # YAML 1.1 would read a boolean
  password: 0123          # and a number
  max_payload: "64 KiB"
  ping_interval: 1h30m
limits:
  max_objects: 1_000
  body: 1.5GB
track: {ttl: 0s}
`, Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Bus.User != "no" || c.Bus.Password != "0123" {
		t.Errorf("texts: %q, %q", c.Bus.User, string(c.Bus.Password))
	}
	if c.Bus.MaxPayload != 64*KiB || c.Limits.Body != 1_500_000_000 {
		t.Errorf("sizes: %v, %v", c.Bus.MaxPayload, c.Limits.Body)
	}
	if c.Bus.PingInterval != 90*time.Minute || c.Track.TTL != 0 || c.Limits.MaxObjects != 1000 {
		t.Errorf("numbers: %+v", c)
	}
}

// A reader for another section receives its node, with variables of the environment replaced. Its
// faults are reported together with all others.
func TestOthersSections(t *testing.T) {
	read := func(text string) (got string, err error) {
		_, err = load(t, text, Sources{Environ: []string{"WHO=nobody", "WHO=them"}, Others: map[string]func(*strictyaml.Node){
			"guest": func(n *strictyaml.Node) {
				strictyaml.Fields{"name": strictyaml.Into(&got, func(s string) (string, error) { return s, nil })}.Read(n, "guest")
			},
		}})
		return got, err
	}
	if got, err := read("http: {token: \"${WHO}\"}\nguest: {name: \"one of ${WHO}\"}\n"); err != nil || got != "one of them" {
		t.Errorf("%q, %v", got, err)
	}
	for text, want := range map[string]string{
		"gest: {}\n": "paddock.yaml:1:1: unknown key gest; did you mean guest?",
		"guest: {name: \"${WHAT}\", nme: x}\ntrack: {ttl: x}\n": "paddock.yaml:1:15: the environment has no WHAT\npaddock.yaml:1:26: unknown key nme; did you mean name?\n" +
			"paddock.yaml:2:9: track.ttl: \"x\" is no duration such as 90s, 15m or 1h30m",
	} {
		if _, err := read(text); err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The whole message names the fault and its place.
func TestFaults(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"misspelt key", "http:\n  listn: x\n", "paddock.yaml:2:3: unknown key http.listn; did you mean http.listen?"},
		{"strange key", "log:\n  colour: red\n", "paddock.yaml:2:3: unknown key log.colour; there are log.level, log.format"},
		{"misspelt section", "tracks:\n  ttl: 1s\n", "paddock.yaml:1:1: unknown key tracks; did you mean track?"},
		{"strange section", "x: 1\n", "paddock.yaml:1:1: unknown key x; there are data, cluster, journal, history, http, access, bus, wire, sets, track, limits, log, dashboard"},
		{"key twice", "log:\n  level: info\n  level: warn\n", `paddock.yaml:3:3: mapping key "level" already defined at [2:3]`},
		{"unknown key with a list", "http:\n  tokens:\n    - a\n", "paddock.yaml:2:3: unknown key http.tokens; did you mean http.token?"},
		{"unknown key with keys", "bus:\n  users:\n    a: b\n", "paddock.yaml:2:3: unknown key bus.users; did you mean bus.user?"},
		{"unknown key without a value", "log:\n  colour:\n", "paddock.yaml:2:3: unknown key log.colour; there are log.level, log.format"},
		{"unknown key with an anchor", "http:\n  tokn: &t x\n", "paddock.yaml:2:3: unknown key http.tokn; did you mean http.token?"},
		{"list", "http:\n  listen:\n    - a\n", "paddock.yaml:3:5: http.listen takes one value, not a list"},
		{"keys", "http:\n  listen:\n    a: b\n", "paddock.yaml:3:6: http.listen takes one value, not keys of its own"},
		{"anchor", "http:\n  token: &t x\n", "paddock.yaml:2:10: http.token takes one value, not an anchor or alias"},
		{"tag", "http:\n  token: !!str x\n", "paddock.yaml:2:10: http.token takes one value, not a tag"},
		{"no value", "http:\n  token:\n", `paddock.yaml:2:3: http.token has no value; write "" for an empty one, or leave the key out`},
		{"section with a value", "http: 8080\n", "paddock.yaml:1:7: http holds keys with values, not a single value"},
		{"file with a value", "8080\n", "paddock.yaml:1:1: the file holds keys with values, not a single value"},
		{"second document", "log: {}\n---\nlog: {}\n", "paddock.yaml:3:4: a second document; one file is one configuration"},
		{"duration", "track:\n  ttl: 15\n", `paddock.yaml:2:3: track.ttl: "15" is no duration such as 90s, 15m or 1h30m`},
		{"negative duration", "track:\n  ttl: -1s\n", "paddock.yaml:2:3: track.ttl: -1s is too small"},
		{"size", "limits:\n  body: lots\n", `paddock.yaml:2:3: limits.body: "lots" is not a size such as 64MiB`},
		{"size of zero", "limits:\n  body: 0\n", "paddock.yaml:2:3: limits.body: 0B is too small"},
		{"number", "limits:\n  events: 1.5\n", `paddock.yaml:2:3: limits.events: "1.5" is no whole number`},
		{"huge number", "limits:\n  events: 99999999999999999999\n", `paddock.yaml:2:3: limits.events: "99999999999999999999" is too large`},
		{"truth", "http:\n  profile: yes\n", `paddock.yaml:2:3: http.profile: "yes" is neither true nor false`},
		{"word", "track:\n  initial: exit\n", `paddock.yaml:2:3: track.initial: "exit" is none of none, inside, enter`},
		{"level", "log:\n  level: loud\n", `paddock.yaml:2:3: log.level: no log level is called "loud"; levels are debug, info, warn, error`},
		{"format", "log: {format: xml}\n", `paddock.yaml:1:7: log.format: no log format is called "xml"; formats are auto, text, json`},
		{
			"user alone", "bus:\n  user: u\n",
			"paddock.yaml:2:3: bus.user: user and password are set together or not at all",
		},
		{
			"two credentials", "bus: {user: u, password: p, token: t}\n",
			"paddock.yaml:1:7: bus.user: a token is set as well; clients can be asked for only one of the two",
		},
		{
			"a password in a URL", "cluster: {url: 'nats://a:4222,nats://paddock:pass@b:4222'}\n",
			"paddock.yaml:1:11: cluster.url: a name or password in a URL would be shown: use cluster.user and cluster.password, or cluster.token",
		},
		{"a token in an address", "cluster: {url: 'token@a:4222'}\n", "paddock.yaml:1:11: cluster.url: a name or password in a URL would be shown: use cluster.user and cluster.password, or cluster.token"},
		{
			"no such port", "http:\n  listen: 127.0.0.1:99999\n",
			`paddock.yaml:2:3: http.listen: address "127.0.0.1:99999" is not host:port or unix:path: address 99999: invalid port`,
		},
		{
			"no connections", "limits:\n  connections: 0\n",
			"paddock.yaml:2:3: limits.connections: 0 is too small",
		},
		{
			"bus on a socket", "bus:\n  listen: unix:/run/bus\n",
			`paddock.yaml:2:3: bus.listen: "unix:/run/bus" is a unix socket; the bus listens on host:port`,
		},
		{
			"payload over pending", "bus:\n  max_payload: 2MiB\n  max_pending: 1MiB\n",
			"paddock.yaml:2:3: bus.max_payload: 2MiB does not fit into bus.max_pending, which is 1MiB",
		},
		{
			"two faults", "http:\n  listn: x\nlog:\n  levl: x\n",
			"paddock.yaml:2:3: unknown key http.listn; did you mean http.listen?\n" +
				"paddock.yaml:4:3: unknown key log.levl; did you mean log.level?",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.text, Sources{})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if !errors.Is(err, ErrInvalid) {
				t.Error("not ErrInvalid")
			}
		})
	}
}

func TestAnExposedAddressNeedsCredentials(t *testing.T) {
	for text, ok := range map[string]bool{
		"http: {listen: ':8080'}":                                    false,
		"http: {listen: ':8080', token: t}":                          true,
		"bus: {listen: '0.0.0.0:4222'}":                              false,
		"bus: {listen: '0.0.0.0:4222', token: t}":                    true,
		"bus: {listen: '0.0.0.0:4222', user: u, password: p}":        true,
		"bus: {listen: '0.0.0.0:4222'}\nhttp: {token: of-the-other}": false,
	} {
		if _, err := load(t, text+"\ndata: {dir: off}", Sources{}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := load(t, text, Sources{}); err != nil { // clients are asked for keys
			t.Errorf("%s with a data directory: %v", text, err)
		}
	}
	for text, ok := range map[string]bool{
		"wire: {listen: ':7400'}":                          false, // a key needs TLS
		"wire: {listen: ':7400', cert: c.pem, key: k.pem}": true,
		"wire: {listen: '127.0.0.1:7400'}":                 true,
	} {
		if _, err := load(t, text, Sources{}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// 0 is refused unless it is a value of its own.
func TestZero(t *testing.T) {
	for text, ok := range map[string]bool{
		"sets: {zoom: 0}":      true, // the level of the whole world
		"sets: {zoom: -1}":     false,
		"track: {max_gap: 0s}": true,
		"limits: {drain: 0s}":  false,
	} {
		if _, err := load(t, text, Sources{}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Keys of the file are read with their places.
func TestKeys(t *testing.T) {
	digest := strings.Repeat("0a", 32)
	c, err := load(t, "access:\n  required: true\n  keys:\n  - {name: acme, sha256: "+digest+", verbs: [lookup, events:read], fleets: [trucks], sets: [depots], expires: 2030-01-02T03:04:05Z}\n", Sources{})
	if err != nil {
		t.Fatal(err)
	}
	k := c.Access.Keys[0]
	if k.Name != "acme" || k.SHA256[31] != 0x0a || len(k.Verbs) != 2 || k.Fleets[0] != "trucks" || k.Sets[0] != "depots" || k.Expires.Year() != 2030 || !c.Access.Required {
		t.Errorf("%+v", k)
	}
	for text, want := range map[string]string{
		"{name: a, verbs: [lookup]}":                                                                                                   "paddock.yaml:3:5: sha256 missing: paddock keys hash prints that of a secret",
		"{name: a b, verbs: [lookup], sha256: " + digest + "}":                                                                         `paddock.yaml:3:5: name: "a b": want 1 to 64 letters, digits, dashes, dots and underscores`,
		"{name: a, verbs: [look], sha256: " + digest + "}":                                                                             `paddock.yaml:3:5: verbs[0]: "look" is no verb: use positions:write, events:read, objects:read, lookup, sets:write, rules:write, admin`,
		"{name: a, verbs: [lookup], sha256: 0a}":                                                                                       "paddock.yaml:3:40: sha256: want 64 hexadecimal digits, not 2",
		"{name: a, verbs: [admin], fleets: [x], sha256: " + digest + "}":                                                               "paddock.yaml:3:5: verbs: admin has no fleets and no sets: it is for all of them",
		"{name: a, expires: soon, verbs: [lookup], sha256: " + digest + "}":                                                            `paddock.yaml:3:24: "soon" is no time such as 2026-12-31T00:00:00Z`,
		"{name: a, secret: x, verbs: [lookup], sha256: " + digest + "}":                                                                "paddock.yaml:3:15: unknown key secret; there are name, sha256, verbs, fleets, sets, expires",
		"{name: a, verbs: [lookup], sha256: " + digest + "}\n  - {name: a, verbs: [lookup], sha256: " + strings.Repeat("0b", 32) + "}": `paddock.yaml:4:5: name: "a" is that of the key at paddock.yaml:3:5 too`,
		"{name: a, verbs: [lookup], sha256: " + digest + "}\n  - {name: b, verbs: [lookup], sha256: " + digest + "}":                   "paddock.yaml:4:5: sha256: the key at paddock.yaml:3:5 has this secret too",
	} {
		if _, err := load(t, "access:\n  keys:\n  - "+text+"\n", Sources{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestSyntaxErrorsHaveAPlace(t *testing.T) {
	for _, text := range []string{"http:\n\tlisten: x\n", "http: {listen: x\n", "http: 'x\n", "a: b: c\n"} {
		_, err := load(t, text, Sources{})
		var fault *Error
		if !errors.As(err, &fault) || !strings.HasPrefix(fault.Place, "paddock.yaml:") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFaultsOfTheOtherSources(t *testing.T) {
	for _, tc := range []struct {
		s    Sources
		want string
	}{
		{
			Sources{Environ: []string{"PADDOCK_TRACK_TTL=long"}},
			`$PADDOCK_TRACK_TTL: track.ttl: "long" is no duration such as 90s, 15m or 1h30m`,
		},
		{
			Sources{Environ: []string{"PADDOCK_HTTP_LISTEN=:80", "PADDOCK_DATA_DIR=off"}},
			`$PADDOCK_HTTP_LISTEN: http.listen: refusing to listen beyond this machine without authentication: ` +
				`":80" is every interface; set http.token, or listen on 127.0.0.1:80`,
		},
		{
			Sources{Environ: []string{"PADDOCK_BUS_LISTEN=:80", "PADDOCK_DATA_DIR=off"}},
			`$PADDOCK_BUS_LISTEN: bus.listen: refusing to listen beyond this machine without authentication: ` +
				`":80" is every interface; set bus.token, bus.user and bus.password, or bus.authorization, or listen on 127.0.0.1:80`,
		},
		{
			Sources{Environ: []string{"PADDOCK_WIRE_LISTEN=192.0.2.1:80", "PADDOCK_DATA_DIR=off"}},
			`$PADDOCK_WIRE_LISTEN: wire.listen: refusing to listen beyond this machine without authentication: ` +
				`"192.0.2.1:80" is 192.0.2.1; set wire.token, or listen on 127.0.0.1:80`,
		},
		{
			Sources{Flags: map[string]string{"log.level": "loud"}},
			`command line: log.level: no log level is called "loud"; levels are debug, info, warn, error`,
		},
		{
			Sources{Flags: map[string]string{"log.levle": "info"}},
			`command line: unknown key log.levle; did you mean log.level?`,
		},
	} {
		if _, err := Load(tc.s); err == nil || err.Error() != tc.want {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
}

func TestAMisspeltVariableIsAWarning(t *testing.T) {
	c, err := Load(Sources{Environ: []string{"PADDOCK_HTTP_LISTNE=x", "PADDOCK_DEMO_SEED=7"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 1 || c.Warnings[0] != "$PADDOCK_HTTP_LISTNE sets nothing here; did you mean $PADDOCK_HTTP_LISTEN?" {
		t.Errorf("got %q", c.Warnings)
	}
}

func TestFileThatIsNone(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	_, err := Load(Sources{File: absent})
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err, ErrInvalid) || err.Error() != absent+": no such file or directory" {
		t.Errorf("absent: %v", err)
	}
	if _, err := load(t, strings.Repeat("#", strictyaml.MaxFile+1), Sources{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("huge: %v", err)
	}
}

// A check outside of this package reports the same place.
func TestFault(t *testing.T) {
	c, err := load(t, "sets:\n  kind: cube\n", Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Fault("sets.kind", errors.New("no such kind")).Error(); got != "paddock.yaml:2:3: sets.kind: no such kind" {
		t.Error(got)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "4096": 4096, "1B": 1, "1kb": 1000, "1KiB": 1024, "64MiB": 64 << 20, "64 MiB": 64 << 20,
		"1.5GB": 1.5e9, "0.5KiB": 512, "2GiB": 2 << 30, "1_000": 1000,
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
		if again, err := ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%q: printed as %q, read as %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "B", "-1", "1.5", "1e300", "NaN", "Inf", "MiB", "1 TiB", "64MiB B"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: read as %d", text, got)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	c := Default()
	c.HTTP.Token = "hunter2"
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "http", c.HTTP, "token", c.HTTP.Token)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", c.HTTP, c.HTTP, c.HTTP, c.HTTP.Token), log.String()} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "[hidden]") {
			t.Errorf("got %s", text)
		}
	}
}

func FuzzReadYAML(f *testing.F) {
	example, err := os.ReadFile("../../../docs/reference/paddock.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, text := range []string{"", "a: [", "http: {listen: x}", "http:\n  token: |\n    a\n", "? a\n: b\n", "<<: *a"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Default()
		c.origins = map[string]string{}
		for _, err := range c.readYAML(&Sources{File: "fuzz.yaml"}, text) {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%v does not wrap ErrInvalid", err)
			}
		}
	})
}
