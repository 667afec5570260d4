package httpapi

import (
	"bytes"
	_ "embed"
	"errors"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"rsc.io/qr"

	"paddock/internal/platform/doctor"
	"paddock/internal/platform/httpapi/runs"
	"paddock/internal/process/keyring"
)

const (
	defaultLines = 100
	// maxLines bounds each kind of line of an overview. Of the tunnel it keeps an answer below 2 MB
	// with 32 names of 253 bytes a client.
	maxLines = 200
	// maxFind is longer than any name.
	maxFind = 256
	// maxQR bounds the text of a QR code, in bytes.
	maxQR = 1024
)

// overview returns the handler that answers with the state of a service. Without one it says none.
func (a *API) overview(state func(find string, most int) any, none string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := params(r, "find", "limit")
		if err != nil {
			return err
		}
		most := defaultLines
		if s := q.Get("limit"); s != "" {
			if most, err = count("limit", s, maxLines); err != nil {
				return err
			}
		}
		find := q.Get("find")
		switch {
		case len(find) > maxFind:
			return fail(http.StatusBadRequest, "query: find has more than %d bytes", maxFind)
		case state == nil:
			return fail(http.StatusNotFound, "%s", none)
		}
		return writeJSON(w, http.StatusOK, state(find, most))
	}
}

// getRuns lists the runs of the lab.
func (a *API) getRuns(w http.ResponseWriter, _ *http.Request) error {
	list, err := a.cfg.Runs.List()
	if err != nil {
		return noRun(err)
	}
	return writeJSON(w, http.StatusOK, list)
}

// getRunReport answers with the report of a run. A name with a slash is escaped in the path.
func (a *API) getRunReport(w http.ResponseWriter, r *http.Request) error {
	if err := a.cfg.Runs.ServeReport(w, r.PathValue("name")); err != nil {
		return noRun(err)
	}
	return nil
}

// noRun returns the problem of runs that are not there, or cannot be read now.
func noRun(err error) error {
	status := http.StatusServiceUnavailable
	if errors.Is(err, runs.ErrNone) {
		status = http.StatusNotFound
	}
	return fail(status, "%v", err)
}

// postQR answers with the QR code of a text, as rows of modules: 1 is black. The text is in the
// body, because an address for phones has a key in it, and URLs are logged.
func (a *API) postQR(w http.ResponseWriter, r *http.Request) error {
	l := a.memory.Lease()
	defer l.Release()
	var given struct {
		Text string `json:"text"`
	}
	if err := a.readJSON(w, r, l, &given); err != nil {
		return err
	}
	if given.Text == "" || len(given.Text) > maxQR {
		return fail(http.StatusBadRequest, "body: text: want 1 to %d bytes, not %d", maxQR, len(given.Text))
	}
	code, err := qr.Encode(given.Text, qr.M)
	if err != nil {
		return fail(http.StatusBadRequest, "body: text: %v", err)
	}
	rows := make([]string, code.Size)
	for y := range rows {
		row := bytes.Repeat([]byte("0"), code.Size)
		for x := range row {
			if code.Black(x, y) {
				row[x] = '1'
			}
		}
		rows[y] = string(row)
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, map[string]any{"rows": rows})
}

// postDrain has the leader of the cluster, which this node is, give its role away. The answer comes
// before that.
func (a *API) postDrain(w http.ResponseWriter, r *http.Request) error {
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	var given struct {
		Node string `json:"node"`
	}
	if len(body) > 0 {
		if err := decodeJSON(body, &given); err != nil {
			return err
		}
	}
	if a.cfg.DrainLeader == nil {
		return fail(http.StatusNotFound, noCluster)
	}
	var unnoted error
	err = a.cfg.DrainLeader(given.Node, func(own string) error {
		unnoted = a.audited(r, "cluster.drain", own, func() error { return nil })
		return unnoted
	})
	if unnoted != nil {
		return unnoted
	}
	if err != nil {
		return fail(http.StatusConflict, "%v", err)
	}
	return writeJSON(w, http.StatusAccepted, map[string]any{})
}

// getDoctor answers with what the platform finds about itself.
func (a *API) getDoctor(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "only")
	if err != nil {
		return err
	}
	if a.cfg.Doctor == nil {
		return fail(http.StatusNotFound, "there is no examination here")
	}
	f := a.cfg.Doctor()
	if f == nil {
		return fail(http.StatusServiceUnavailable, "the platform starts")
	}
	var only []string
	if s := q.Get("only"); s != "" {
		only = strings.Split(s, ",")
	}
	summary := slices.Equal(only, []string{"summary"})
	if !summary {
		if err := doctor.Unknown(only, doctor.Names(f.Checks())); err != nil {
			return fail(http.StatusBadRequest, "query: only: %v, and summary, which is alone", err)
		}
	}
	report, err := f.Examine(r.Context(), only, summary)
	if err != nil {
		return fail(http.StatusServiceUnavailable, "other examinations are under way: %v", err)
	}
	return writeJSON(w, http.StatusOK, report)
}

// getBugReport answers with an archive for a bug report.
func (a *API) getBugReport(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "positions")
	if err != nil {
		return err
	}
	if s := q.Get("positions"); s != "" && s != "0" && s != "1" {
		return fail(http.StatusBadRequest, "query: positions %.64q: use 0 or 1", s)
	}
	if a.cfg.BugReport == nil {
		return fail(http.StatusNotFound, "there is no bug report here")
	}
	var archive bytes.Buffer // of some bounded files, packed
	if err := a.cfg.BugReport(r.Context(), &archive, q.Get("positions") == "1"); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(archive.Bytes()) // the client may be gone
	return nil
}

// openAPI describes /v1: OpenAPI 3.1. A test checks real answers against it.
//
//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(openAPI)
	return nil
}

// ready is the status without an obstacle.
const ready = "ok"

// health is an answer of /healthz or /readyz.
type health struct {
	Status string   `json:"status"`          // ok, or the obstacle
	Files  []string `json:"files,omitempty"` // of sets, that could not be read since the start
}

var getHealth = handler(func(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, health{Status: "ok"})
})

// getReady reports whether the service accepts work and has all its sets. A file that fails after
// the start does not change that: its previous contents are served.
func (a *API) getReady(w http.ResponseWriter, _ *http.Request) error {
	h := a.readiness()
	if h.Status != ready {
		return writeJSON(w, http.StatusServiceUnavailable, h)
	}
	return writeJSON(w, http.StatusOK, h)
}

func (a *API) readiness() health {
	if a.isDraining() {
		return health{Status: "draining"}
	}
	if reason := a.cfg.Pipeline.Refusing(); reason != "" {
		return health{Status: reason}
	}
	if missing := a.files().Missing(); len(missing) > 0 {
		return health{Status: "sets missing", Files: missing}
	}
	return health{Status: ready}
}

// Obstacle returns why /readyz answers 503, or "".
func (a *API) Obstacle() string {
	h := a.readiness()
	if h.Status == ready {
		return ""
	}
	return strings.Join(append([]string{h.Status}, h.Files...), " ")
}

// profile adds the profiles of net/http/pprof.
func profile(mux *http.ServeMux) {
	for name, h := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.Handle("/debug/pprof/"+name, permit(keyring.Admin, plainly(h)))
	}
}
