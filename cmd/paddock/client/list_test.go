package client

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTablesArePlain holds that what others have chosen, such as the id of an object in the audit,
// neither reaches the terminal as a command nor makes a line of its own.
func TestTablesArePlain(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // no contexts
	t.Setenv(contextVariable, "")
	const hostile = `x\u001b]0;y\u0007\nz\tw`
	answers := map[string]string{
		"/v1/audit":                  `{"changes":[{"at":"2026-03-12T11:16:40Z","by":"b","from":"f","action":"object.delete","object":"` + hostile + `","failed":"` + hostile + `"}]}`,
		"/v1/keys":                   `{"keys":[{"name":"k","verbs":["lookup"],"sets":["` + hostile + `"]}]}`,
		"/v1/webhooks":               `{"webhooks":[{"webhook":{"id":"w","url":"https://a"},"state":{"state":"` + hostile + `"}}]}`,
		"/v1/webhooks/w/deadletters": `{"dead_letters":[{"cursor":"c","event":"` + hostile + `","reason":"` + hostile + `"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(answers[r.URL.Path]))
	}))
	defer server.Close()
	for name, run := range map[string]func(c *Console) error{
		"audit": func(c *Console) error {
			return (&keysAuditCmd{Limit: 1, remote: remote{Server: server.URL}}).Run(t.Context(), c)
		},
		"keys": func(c *Console) error { return (&keysLsCmd{remote: remote{Server: server.URL}}).Run(t.Context(), c) },
		"webhooks": func(c *Console) error {
			return (&webhooksLsCmd{remote: remote{Server: server.URL}}).Run(t.Context(), c)
		},
		"dead letters": func(c *Console) error {
			return (&webhooksDeadCmd{ID: "w", remote: remote{Server: server.URL}}).Run(t.Context(), c)
		},
	} {
		var out bytes.Buffer
		if err := run(&Console{Stdout: &out}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := out.String(); !strings.Contains(text, "]0;y") || strings.Count(text, "\n") != 2 || strings.ContainsAny(text, "\x1b\a\t") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
