package monitor

import (
	"encoding/json"
	"expvar"
	"html/template"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
)

var rootPage = template.Must(template.New("root").Parse(`<!doctype html>
<html lang="en">
<title>{{.Name}}: Paddock bus</title>
<h1>{{.Name}}</h1>
<ul>{{range .Paths}}
<li><a href="{{$.Base}}{{.}}">{{.}}</a>{{end}}
</ul>
</html>
`))

// root lists the other paths.
func (m *monitor) root(w http.ResponseWriter, _ *http.Request) {
	m.count("/")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = rootPage.Execute(w, map[string]any{
		"Name": m.srv.Settings().ServerName,
		"Base": m.opts.BasePath,
		"Paths": []string{
			"/varz", "/connz", "/subsz", "/healthz", "/topz", "/metrics", "/accountz", "/accstatz",
			"/routez", "/gatewayz", "/leafz", "/jsz", "/debug/vars",
		},
	})
}

// vars serves expvar's page without the arguments of the process, in which there may be secrets.
func vars(w http.ResponseWriter, _ *http.Request) {
	all := map[string]json.RawMessage{}
	expvar.Do(func(kv expvar.KeyValue) { all[kv.Key] = json.RawMessage(kv.Value.String()) })
	program, err := json.Marshal([]string{filepath.Base(os.Args[0])})
	if err != nil {
		panic(err) // a text only
	}
	all["cmdline"] = program
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(b)
}

// stacks writes the stacks of all goroutines.
func stacks(w http.ResponseWriter, _ *http.Request) {
	buf := make([]byte, 64<<10)
	for {
		if n := runtime.Stack(buf, true); n < len(buf) {
			respond(w, http.StatusOK, buf[:n])
			return
		}
		buf = make([]byte, 2*len(buf))
	}
}
