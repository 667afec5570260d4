package tunneld_test

import (
	"os"
	"path/filepath"
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
