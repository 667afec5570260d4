package spawn

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Config describes the servers of a test. The texts in Snippets are parts of a configuration file,
// and templates over [Values].
type Config struct {
	JetStream bool
	TLS       *TLS
	// Snippets by slot: "top", "jetstream" (within its block), "websocket", "leafnode",
	// "authorization", "accounts", "system_account".
	Snippets map[string]string
}

// TLS asks for a certificate of its own on the client port.
type TLS struct {
	Mutual         bool     // clients need the one that was made for them
	Names          []string // host names and addresses; empty = localhost
	HandshakeFirst bool
	Timeout        float64 // seconds; 0 = 2
}

// Values are the values in a snippet.
type Values struct {
	ServerName  string
	ClusterName string
	StoreDir    string
	Ports       map[string]int // "client", "cluster", and one for each listening snippet
	Routes      []string
	TLS         *Certificates
}

// listening are the snippets that need a port of their own.
var listening = []string{"websocket", "leafnode"}

// main is the file of one server. There are no accounts and no users unless the
// test gives them: its clients then are in the global account.
var main = template.Must(template.New("main").Parse(`{{.Snippet "top"}}
server_name: "{{.ServerName}}"
host: "127.0.0.1"
port: {{.Ports.client}}
{{if .Config.JetStream}}
jetstream {
  store_dir: "{{.StoreDir}}"
  {{.Snippet "jetstream"}}
}
{{end}}{{if .Routes}}
client_advertise: "localhost:{{.Ports.client}}"
cluster {
  name: "{{.ClusterName}}"
  listen: "127.0.0.1:{{.Ports.cluster}}"
  routes: [{{range .Routes}}
    "{{.}}"{{end}}
  ]
}
{{end}}{{with .Config.TLS}}
tls {
  cert_file: "{{$.TLS.CertFile}}"
  key_file: "{{$.TLS.KeyFile}}"
  ca_file: "{{$.TLS.CAFile}}"
  verify: {{.Mutual}}
  timeout: {{if .Timeout}}{{.Timeout}}{{else}}2{{end}}
  {{if .HandshakeFirst}}handshake_first: true{{end}}
}
{{end}}
{{.Snippet "websocket"}}
{{.Snippet "leafnode"}}
{{.Snippet "system_account"}}
{{.Snippet "authorization"}}
{{.Snippet "accounts"}}
`))

// page is the data of the main template.
type page struct {
	Values
	Config Config
}

// Snippet renders the text of a slot; nothing if the test gave none.
func (p page) Snippet(slot string) (string, error) {
	t, err := template.New("snippet").Option("missingkey=error").Parse(p.Config.Snippets[slot])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, p)
	return b.String(), err
}

// write puts the configuration into the file, whole or not at all: the server
// may read it at any time.
func (c Config) write(file string, v Values) error {
	var b bytes.Buffer
	if err := main.Execute(&b, page{v, c}); err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(file), "next.conf")
	if err := os.WriteFile(next, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}
