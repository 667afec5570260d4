package inspector

import (
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"time"

	"paddock/internal/process/access"
)

//go:embed page
var files embed.FS

// policy restricts the page to its own files, its own requests, and an empty icon.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// summary is a line of the list.
type summary struct {
	ID       uint64    `json:"id"`
	Tunnel   string    `json:"tunnel"`
	ReplayOf uint64    `json:"replay_of,omitempty"` // absent: it is no replay
	Began    time.Time `json:"began"`
	Method   string    `json:"method"`
	Host     string    `json:"host"`
	Target   string    `json:"target"`
	Status   int       `json:"status,omitempty"` // absent: no head has come
	ToHeadUs int64     `json:"to_head_us,omitempty"`
	TookUs   int64     `json:"took_us,omitempty"` // absent: it is under way
	Fault    string    `json:"fault,omitempty"`   // why it is not whole
	Sent     int64     `json:"sent"`              // bytes of the request's body
	Received int64     `json:"received"`
}

// list is the answer of GET /v1/exchanges, the newest first.
type list struct {
	Exchanges []summary `json:"exchanges"`
	Dropped   uint64    `json:"dropped"` // that were there, and fell out
	Bytes     int       `json:"bytes"`
	MaxBytes  int       `json:"max_bytes"`
	Max       int       `json:"max"`
}

// detail is that of GET /v1/exchanges/{id}.
type detail struct {
	summary
	Request    shown `json:"request"`
	Answer     shown `json:"answer"`
	Replayable bool  `json:"replayable"`
}

// shown is a message, its secrets masked.
type shown struct {
	Fields []field `json:"fields"`
	Text   string  `json:"text,omitempty"`
	Base64 string  `json:"base64,omitempty"` // in place of text, where it is none
	Cut    bool    `json:"cut"`              // there was more
}

// Handler serves the page, and the same as JSON. It is for this machine alone: names that
// were made to lead here, and other sites' pages, get nothing.
func (i *Inspector) Handler() http.Handler {
	mux := http.NewServeMux()
	pages, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // "page" is a valid path
	}
	mux.Handle("GET /", http.FileServerFS(pages))
	mux.HandleFunc("GET /v1/exchanges", func(w http.ResponseWriter, _ *http.Request) { tell(w, i.list()) })
	mux.HandleFunc("GET /v1/exchanges/{id}", func(w http.ResponseWriter, r *http.Request) {
		d, ok := i.detail(idOf(r))
		if !ok {
			http.Error(w, errNone.Error(), http.StatusNotFound)
			return
		}
		tell(w, d)
	})
	mux.HandleFunc("POST /v1/exchanges/{id}/replay", i.serveReplay)
	sameOrigin := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !access.LocalName(r.Host) {
			http.Error(w, "this is for names of this machine", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		sameOrigin.ServeHTTP(w, r)
	})
}

func idOf(r *http.Request) uint64 {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0 // no exchange has it
	}
	return id
}

func tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (i *Inspector) serveReplay(w http.ResponseWriter, r *http.Request) {
	switch err := i.Replay(r.Context(), idOf(r)); {
	case errors.Is(err, errNone):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, errPartial), errors.Is(err, errUpgrade):
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (i *Inspector) list() list {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := list{Exchanges: []summary{}, Dropped: i.dropped, Bytes: i.bytes, MaxBytes: maxBytes, Max: maxExchanges}
	for _, x := range slices.Backward(i.exchanges) {
		l.Exchanges = append(l.Exchanges, x.line())
	}
	return l
}

// line is the summary with the present counts.
func (x *exchange) line() summary {
	s := x.summary
	s.Sent, s.Received = x.request.bytes, x.answer.bytes
	return s
}

func (i *Inspector) detail(id uint64) (d detail, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	x := i.find(id)
	if x == nil {
		return d, false
	}
	return detail{x.line(), x.request.shown(), x.answer.shown(), x.replayable()}, true
}

func (m *message) shown() shown {
	s := shown{Fields: fieldsOf(m.head), Cut: m.cut()}
	if isText(m.body) {
		s.Text = string(m.body)
	} else {
		s.Base64 = base64.StdEncoding.EncodeToString(m.body)
	}
	return s
}
