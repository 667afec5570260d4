package tunneld_test

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock/internal/tunneld"
	"paddock/tunnel/client"
)

// Every file and text with a secret is read on its own; one that is missing, empty or broken ends
// the start. Without it nothing is admitted, or offered.
func TestSecretsFailClosed(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	missing, broken := filepath.Join(dir, "missing"), file("broken", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n")
	for name, connect := range map[string]tunneld.Connect{
		"no token file":      {TokenFile: missing},
		"an empty token":     {TokenFile: file("empty", "\n")},
		"a token's id alone": {TokenFile: file("id", "ci:\n")},
		"a secret alone":     {TokenFile: file("secret", ":secret\n")},
		"a broken key":       {Key: broken},
		"an empty key":       {Key: file("nokey", "")},
		"no certificate":     {Cert: missing, Key: broken},
		"no roots":           {RootCA: missing},
		"empty roots":        {RootCA: file("roots", "")},
	} {
		connect.Server = "127.0.0.1:1"
		_, err := tunneld.NewClient(tunneld.ClientOptions{
			Settings: &tunneld.Settings{Connect: connect, Tunnels: []client.Tunnel{{Name: "x", Protocol: "http", Host: "a.example", Target: "1"}}},
			Key:      filepath.Join(dir, "client.key"), Logger: silent,
		})
		if err == nil {
			t.Errorf("a client with %s", name)
		}
	}
	for name, serve := range map[string]tunneld.Serve{
		"a broken key":       {Identity: broken},
		"no certificate":     {Cert: missing, Key: missing},
		"a broken pair":      {Cert: broken, Key: broken, Identity: filepath.Join(dir, "server.key")},
		"no token for admin": {Admin: "0.0.0.0:0"},
		"nobody listed":      {Listen: "0.0.0.0:0"},
	} {
		if serve.Listen == "" {
			serve.Listen = "127.0.0.1:0"
		}
		_, err := tunneld.OpenServer(t.Context(), tunneld.ServerOptions{
			Settings: &tunneld.Settings{Serve: serve}, Key: filepath.Join(dir, "server.key"), Logger: silent,
		})
		if err == nil {
			t.Errorf("a server with %s", name)
		}
	}
}

// A link has the name of its token, wherever that is, and another name for another token: a server
// refuses the session of one client to the other.
func TestLinkNamesItsToken(t *testing.T) {
	dir, names := t.TempDir(), map[string]string{}
	for _, c := range [][3]string{{"a", "vehicle:one", "one"}, {"b", "vehicle:one", "one"}, {"b", "vehicle:two", "two"}, {"b", "other:two", "three"}} {
		path := filepath.Join(dir, c[0])
		if err := os.WriteFile(path, []byte(c[1]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		connect := tunneld.Connect{Server: "127.0.0.1:1", Plaintext: true, TokenFile: path}
		_, name, err := connect.Link("", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := names[name]; ok && before != c[2] || !ok && slices.Contains(slices.Collect(maps.Values(names)), c[2]) {
			t.Errorf("%s in %s is %s, as %s", c[1], c[0], name, before)
		}
		names[name] = c[2]
		if strings.Contains(name, c[1]) {
			t.Errorf("%s has the secret", name)
		}
	}
}
