package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"paddock/internal/agent/spool"
	"paddock/internal/netio/listen"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/access"
	"paddock/internal/process/metrics"
)

const (
	// maxBody bounds a request, in bytes. With maxLocalConns it bounds the memory of all requests.
	maxBody = 1 << 20
	// retryAfter is the Retry-After of a full buffer, in seconds.
	retryAfter = 5
)

func (a *Agent) openHTTP(ctx context.Context) error {
	set := a.settings.HTTP
	l, err := listen.Listen(ctx, set.Listen, set.Token != "")
	if err != nil {
		return listen.OrElse(err, "http.listen in the file")
	}
	a.httpAt = listen.Limit(l, maxLocalConns)
	a.http = &http.Server{
		Handler:           a.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       slowBody,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	a.log.Info("http listening", "url", "http://"+l.Addr().String()+"/")
	return nil
}

func (a *Agent) serveHTTP(context.Context) error {
	if err := a.http.Serve(a.httpAt); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (a *Agent) closeHTTP(ctx context.Context) error {
	a.feed.log.End() // ends the streams too
	if err := a.http.Shutdown(ctx); err != nil {
		return errors.Join(err, a.http.Close())
	}
	return nil
}

// routes returns the handler of the endpoint.
func (a *Agent) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/positions", handler((&positionsHandler{a.byHTTP, a.slow}).post))
	mux.Handle("GET /v1/search", handler(a.getSearch))
	mux.Handle("POST /v1/search", handler(a.postSearch))
	mux.Handle("GET /v1/events", handler(a.getEvents))
	mux.Handle("GET /status", handler(a.getStatus))
	mux.Handle("GET /metrics", metrics.Handler(a.registry, a.log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return protect(access.NewToken(string(a.settings.HTTP.Token)), mux)
}

// protect admits requests with the token or, if there is none, requests for an IP address or
// localhost. It refuses pages of other origins.
func protect(token access.Token, next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token.Required() && !token.Allows(r):
			w.Header()["Www-Authenticate"] = access.Challenge
			fail(http.StatusUnauthorized, "send the token as Authorization: Bearer TOKEN").write(w)
		case !token.Required() && !access.LocalName(r.Host):
			fail(http.StatusMisdirectedRequest, "host %.64q: without a token only addresses and localhost are answered", r.Host).write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// positionsHandler takes positions over HTTP, as POST /v1/positions of the platform does.
type positionsHandler struct {
	source *source
	slow   *semaphore
}

func (d *positionsHandler) post(w http.ResponseWriter, r *http.Request) error {
	dec := d.source.decoder()
	q := r.URL.Query()
	for key, values := range q {
		if !slices.Contains([]string{"fleet", "id_property", "time_property"}, key) || len(values) != 1 {
			return fail(http.StatusBadRequest, "query: %.64q: use fleet, id_property and time_property, each once", key)
		}
	}
	if fleet := q.Get("fleet"); fleet != "" {
		if err := ingest.CheckName("fleet", fleet); err != nil {
			return fail(http.StatusBadRequest, "query: %v", err)
		}
		dec.Fleet = fleet
	}
	dec.IDProperty, dec.TimeProperty = q.Get("id_property"), q.Get("time_property")
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && slices.Contains(lineTypes, media) {
		dec.Format = ingest.Lines
	}
	body, err := readBody(w, r, d.slow)
	if err != nil {
		return err
	}
	res, err := d.source.take(&dec, body)
	if err != nil {
		return intakeProblem(err)
	}
	status := http.StatusAccepted
	if res.Accepted == 0 && len(res.Rejected) > 0 {
		status = http.StatusBadRequest
	}
	return writeJSON(w, status, &res)
}

// lineTypes are the media types of one JSON value a line.
var lineTypes = []string{"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}

func readBody(w http.ResponseWriter, r *http.Request, slow *semaphore) ([]byte, error) {
	from := newBody(w, r, slow)
	defer from.done()
	body, err := io.ReadAll(http.MaxBytesReader(w, from, maxBody))
	if errors.Is(err, errSlow) {
		return nil, fail(http.StatusServiceUnavailable, "body: %v; send it whole, or again later", err)
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fail(http.StatusRequestEntityTooLarge, "body: more than %d bytes; send it in parts", maxBody)
	}
	if err != nil {
		return nil, fail(http.StatusBadRequest, "body: %v", err)
	}
	return body, nil
}

// intakeProblem returns the answer to a refused body.
func intakeProblem(err error) *problem {
	if be, ok := errors.AsType[*ingest.BodyError](err); ok {
		return fail(http.StatusBadRequest, "body: %v", be)
	}
	if errors.Is(err, ingest.ErrTooMany) || errors.Is(err, spool.ErrTooLarge) {
		return fail(http.StatusRequestEntityTooLarge, "body: %v", err)
	}
	return fail(http.StatusServiceUnavailable, "%v", err)
}

// handler is an endpoint that may fail. If it returns an error, it has not answered.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	if err == nil {
		return
	}
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = fail(http.StatusInternalServerError, "%v", err)
	}
	p.write(w)
}

// problem is an error in the form of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return p.Detail }

func fail(status int, format string, args ...any) *problem {
	return &problem{"about:blank", http.StatusText(status), status, fmt.Sprintf(format, args...)}
}

func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	w.WriteHeader(p.Status)
	text, _ := events.PlainJSON(p)     // strings and numbers always encode
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	text, err := events.PlainJSON(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
	return nil
}
