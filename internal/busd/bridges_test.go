package busd

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/internal/busd/bridge"
)

func TestBridgesOfAFile(t *testing.T) {
	s, err := settingsOf(t, `paddock {
  bridges: [
    {name: hq, urls: ["nats://a:4222", "tls://b:4222"], user: u, password: p, import: "cmd.>", export: [pos.>, "fence.*.>" ], max_pending: 1MB}
    {name: site-2, url: "wss://c/bus", token: t, import: [x ], queue: sites, tls: {handshake_first: true}}
  ]
}`)
	want := []bridge.Config{
		{Name: "hq", URLs: []string{"nats://a:4222", "tls://b:4222"}, User: "u", Password: "p", Import: []string{"cmd.>"}, Export: []string{"pos.>", "fence.*.>"}, MaxPending: 1 << 20},
		{Name: "site-2", URLs: []string{"wss://c/bus"}, Token: "t", Import: []string{"x"}, Queue: "sites", TLS: &bridge.TLS{HandshakeFirst: true}, MaxPending: bridge.DefaultPending},
	}
	if err != nil || !reflect.DeepEqual(s.Bridges, want) {
		t.Errorf("%+v, %v", s.Bridges, err)
	}
}

func TestMistakesOfBridges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = "name: a\nurls: 'nats://h'\nimport: x\n"
	for text, want := range map[string]string{
		"5":                                               "x.conf:1:10: bridges takes an array, not an integer",
		"[5 ]":                                            "a bridge is a map, not an integer",
		"[{" + good + "wings: 2}]":                        `x.conf:4:1: unknown field "wings"`,
		"[{urls: 'nats://h', import: x}]":                 "x.conf:1:20: a bridge needs a name",
		"[{name: a, import: x}]":                          "bridge a needs urls",
		"[{name: a, urls: 'nats://h'}]":                   "bridge a needs import or export",
		"[{name: 'a b'}]":                                 `name: "a b": want letters, digits, - and _`,
		"[{" + good + "}, {" + good + "}]":                `there are two bridges "a"`,
		"[{" + good + "urls: 'h:4222'}]":                  "x.conf:4:1: urls: ",
		"[{" + good + "urls: 'http://h'}]":                `urls: "http://h": want nats, tls, ws or wss as the scheme`,
		"[{" + good + "urls: 'nats://u:pw@h'}]":           "x.conf:4:1: urls: a name or password in a URL would be shown: use user and password, or token",
		"[{" + good + "urls: 'nats://h/a'}]":              `want nats://host:port`,
		"[{" + good + "urls: ['nats://h', 'ws://h' ]}]":   "URLs of WebSocket and others exclude each other",
		"[{" + good + "user: u, token: t}]":               "x.conf:1:20: bridge a: set one of user, token and creds",
		"[{" + good + "password: p}]":                     "bridge a has a password without a user",
		"[{" + good + "token: ''}]":                       "token is empty",
		"[{" + good + "creds: '/nowhere'}]":               "x.conf:4:1: creds: open /nowhere: no such file",
		"[{" + good + "creds: '" + file + "'}]":           "holds no credentials of a user",
		"[{" + good + "tls: {ca_file: '" + file + "'}}]":  "holds no certificate",
		"[{" + good + "tls: {cert_file: x}}]":             "x.conf:4:1: tls: cert_file and key_file need each other",
		"[{" + good + "tls: {verify: true}}]":             `unknown field "verify"`,
		"[{" + good + "export: 'a..b'}]":                  `x.conf:4:1: export: "a..b" is no pattern of subjects`,
		"[{" + good + "import: ['a.>', 'a.b' ]}]":         `import: "a.>" and "a.b" overlap: a message that both match would pass twice`,
		"[{" + good + "max_pending: 1}]":                  "max_pending: 1 is not from 65536 to 1073741824",
		"[{" + good + "queue: 'a b'}]":                    `queue: "a b" is no name of a queue`,
		"[{" + good + "}]}\nno_header_support: true\nx {": "bridges need headers",
	} {
		if _, err := settingsOf(t, "paddock {bridges: "+text+"}"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.conf:") {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	s := &Settings{Bus: bus.Config{DenyPublish: []string{"fence.>"}}, Bridges: []bridge.Config{{Name: "a", Import: []string{">", "fence.x"}}}}
	var faults []string
	s.Resolve(func(key string, err error) { faults = append(faults, key+": "+err.Error()) })
	if want := []string{`paddock: bridge a: import "fence.x": only the server publishes on "fence.>"`}; !slices.Equal(faults, want) {
		t.Errorf("%q", faults)
	}
}

// A program takes over changed bridges with SIGHUP, tells their connections in the log and counts
// them in /metrics.
func TestProgramWithBridges(t *testing.T) {
	other, err := bus.New(bus.Config{Port: -1, Token: "s3cret"})
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url := "nats://" + other.Addr().String()
	r := start(t, `port: -1, http: -1, ports_file_dir: "$DIR"`)
	config := func(subject string) string {
		return `port: -1, http: -1, ports_file_dir: "$DIR", paddock {bridges: [{name: hq, urls: "` + url + `", token: s3cret, import: ` + subject + `}]}`
	}
	local, err := nats.Connect(r.ports().NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	got, err := local.SubscribeSync(">")
	if err != nil || local.Flush() != nil {
		t.Fatal(err)
	}
	remote, err := nats.Connect(url, nats.Token("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	for _, subject := range []string{"cmd.one", "cmd.two"} {
		r.configure(config(subject))
		r.signals <- syscall.SIGHUP
		r.await("Reloaded server configuration")
		await(t, func() (string, bool) {
			_, n := other.Subscriptions(subject, 0, 1)
			return "no subscription", n > 0
		})
		for _, s := range []string{"cmd.one", "cmd.two"} {
			if err := remote.Publish(s, nil); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := got.NextMsg(time.Minute); err != nil || m.Subject != subject {
			t.Errorf("%s: %v, %v", subject, m, err)
		}
	}
	await(t, func() (string, bool) { // a message is counted after it is published
		text := get(t, r.ports().Monitoring[0]+"/metrics")
		return text, strings.Contains(text, `paddock_bus_bridge_messages_total{bridge="hq",direction="in"} 1`)
	})
	if err := other.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await("bridge is not connected")
	if err := r.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	inOrder(t, r.seen, "bridge connected bridge=hq url="+url, "[WRN] bridge is not connected bridge=hq error=")
	if text := strings.Join(r.seen, "\n"); strings.Contains(text, "s3cret") {
		t.Errorf("a secret is in the log:\n%s", text)
	}
}

// await waits until something holds; text describes what there is otherwise.
func await(t *testing.T, holds func() (text string, ok bool)) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		text, ok := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(text)
		}
		<-time.After(time.Millisecond)
	}
}

// What is wrong with bridges ends the check of a file.
func TestCheckOfBridges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(file, []byte("port: 1\npaddock {bridges: [{name: a}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code := check(Source{File: file}, &out); code != exitFailure || !strings.Contains(out.String(), file+":2:20: bridge a needs urls") {
		t.Errorf("%d, %s", code, out.String())
	}
}

// The blocks of the guides that have bridges are valid.
func TestDocumentedBridges(t *testing.T) {
	for file, want := range map[string]int{"bus.md": 2, "bus-cluster.md": 1} {
		text, err := os.ReadFile("../../docs/guides/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, block := range strings.Split(string(text), "```\n") {
			at := strings.Index(block, "paddock {")
			if at < 0 || !strings.Contains(block, "bridges: ") {
				continue
			}
			found++
			block = block[at:]
			for _, path := range []string{`creds: "/etc/paddock/hq.creds"`, `creds: "/etc/paddock/bridge.creds"`, `ca_file: "/etc/paddock/ca.pem"`} {
				block = strings.ReplaceAll(block, path, "")
			}
			if s, err := settingsOf(t, block); err != nil || len(s.Bridges) != 1 {
				t.Errorf("%s: %v\n%s", file, err, block)
			}
		}
		if found != want {
			t.Errorf("%s: %d blocks, want %d", file, found, want)
		}
	}
}
