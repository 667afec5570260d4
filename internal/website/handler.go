package website

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock/internal/process/access"
)

// methods are the supported methods.
const methods = "GET, HEAD, OPTIONS"

// ServeHTTP answers any request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	a := &answer{ResponseWriter: w}
	s.serve(a, r, begun)
	s.requests.Add(1)
	s.options.Requests.add(request{
		begun: begun, took: time.Since(begun), remote: r.RemoteAddr,
		method: r.Method, target: r.RequestURI, proto: r.Proto, status: a.status, bytes: a.bytes,
	})
}

func (s *Site) serve(w *answer, r *http.Request, now time.Time) {
	if !s.options.AnyHost && !access.LocalName(r.Host) {
		refuse(w, http.StatusMisdirectedRequest, "only addresses and localhost are answered here")
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", methods)
		refuse(w, http.StatusMethodNotAllowed, "method not allowed: files can be read only")
		return
	}
	p, err := s.page(r.URL.Path, now)
	if err == nil {
		err = s.show(w, r, p, now)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// show answers with a page. If it returns an error, nothing was written.
func (s *Site) show(w *answer, r *http.Request, p *page, now time.Time) error {
	c := p.choose([]byte(strings.Join(r.Header["Accept-Encoding"], ",")))
	is := c.stamp
	var body io.ReadSeeker = bytes.NewReader(c.body)
	if !p.inMemory {
		f, info, err := s.open(c.name)
		if err != nil {
			return err
		}
		defer f.Close()
		if info.IsDir() {
			return fs.ErrNotExist
		}
		body, is = f, stampOf(info, now) // the open file, even if it has changed since
	}
	p.describe(w.Header(), c, is)
	if !is.settled {
		is.modified = time.Time{}
	}
	w.length = is.size
	if r.ProtoMajor >= 2 { // HTTP/2 has no write to bound while a stream stalls: see pacedConn
		until := now.Add(stall + time.Duration(is.size/stretch)*stall)
		if err := http.NewResponseController(w).SetWriteDeadline(until); err != nil {
			return err
		}
	}
	mendRange(r.Header)
	http.ServeContent(w, r, "", is.modified, body)
	return nil
}

// mendRange changes a Range header so that http.ServeContent answers it as RFC 9110 section 14
// requires: a range in an unknown unit is ignored, and a suffix of 0 bytes cannot be satisfied.
func mendRange(h http.Header) {
	unit, specs, ok := strings.Cut(h.Get("Range"), "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		h.Del("Range")
		return
	}
	list := strings.Split(specs, ",")
	for i, spec := range list {
		if digits, suffix := strings.CutPrefix(strings.TrimSpace(spec), "-"); suffix && digits != "" && strings.Trim(digits, "0") == "" {
			list[i] = beyond
		}
	}
	h.Set("Range", "bytes="+strings.Join(list, ","))
}

// beyond is a range outside of every content.
const beyond = "9223372036854775806-"

// fail answers a request for which there is no page.
func (s *Site) fail(w *answer, r *http.Request, err error) {
	switch {
	case errors.Is(err, errUnslashed):
		redirect(w, r)
	case errors.Is(err, errNoIndex) && s.options.List:
		name, _, _ := nameOf(r.URL.Path, s.options.Dotfiles)
		if err := s.list(w, r, name); err != nil {
			s.fail(w, r, err)
		}
	case isShortage(err):
		s.log.Warn("a file cannot be read", "path", r.URL.Path, "error", err)
		refuse(w, http.StatusServiceUnavailable, "the file cannot be read now")
	case errors.Is(err, errMoving):
		refuse(w, http.StatusServiceUnavailable, "the file is being written")
	case errors.Is(err, fs.ErrPermission):
		refuse(w, http.StatusForbidden, "forbidden")
	default:
		refuse(w, http.StatusNotFound, "not found")
	}
}

// refuse answers with an error of one line.
func refuse(w http.ResponseWriter, status int, reason string) { http.Error(w, reason, status) }

// redirect sends the client to a directory's path with the final slash. The path begins with
// exactly one slash, so it cannot lead to another host.
func redirect(w http.ResponseWriter, r *http.Request) {
	name, _, _ := nameOf(r.URL.Path, true)
	to := url.URL{Path: urlPath(name, true), RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusMovedPermanently)
}

// answer records the status and the length of an answer. It sets Content-Length for an encoded
// content, which http.ServeContent omits.
type answer struct {
	http.ResponseWriter
	length int64 // of the whole content
	status int
	bytes  int64
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	if h := a.Header(); status == http.StatusOK && h.Get("Content-Encoding") != "" && h.Get("Content-Length") == "" {
		h.Set("Content-Length", strconv.FormatInt(a.length, 10))
	}
	if status == http.StatusPreconditionFailed { // there is no content to describe
		delete(a.Header(), "Content-Type")
		delete(a.Header(), "Content-Encoding")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// ReadFrom uses sendfile if the connection can.
func (a *answer) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(a.ResponseWriter, r)
	a.bytes += n
	return n, err
}
