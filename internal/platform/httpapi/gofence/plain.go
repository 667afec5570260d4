package gofence

import (
	"bytes"
	"net/http"
	"strconv"

	"paddock/internal/netio/plainhttp"
)

// AppendAnswer answers a plain request for /engarde or a search, as ServeHTTP does. It returns nil
// to leave other requests to ServeHTTP: names with escapes, and requests that another site's page
// may have posted. It does not check credentials.
//
// hot: BenchmarkPlain, TestPlainSearchesAllocateNothing
func (h *Handler) AppendAnswer(dst []byte, r *plainhttp.Request) []byte {
	name, search := searchName(r.Path)
	switch {
	case r.Method == plainhttp.GET && string(r.Path) == "/engarde":
		return append(headPlain(dst, r, "text/plain", len(touche)), touche...)
	case !search || r.Method == plainhttp.HEAD || r.Method == plainhttp.POST && r.FromPage:
		return nil
	}
	a := answers.Get().(*answer)
	defer a.release()
	var err error
	if r.Method == plainhttp.POST {
		err = h.toBody(a, name, r.Body)
	} else {
		err = h.toQuery(a, name, r.Query)
	}
	if err != nil {
		return refusePlain(dst, r, err)
	}
	return append(headPlain(dst, r, "application/json", len(a.text)), a.text...)
}

// searchName returns the name in the path of a search.
func searchName(path []byte) (name []byte, ok bool) {
	const before, after = "/fence/", "/search"
	if len(path) <= len(before)+len(after) || string(path[:len(before)]) != before || string(path[len(path)-len(after):]) != after {
		return nil, false
	}
	name = path[len(before) : len(path)-len(after)]
	return name, name[0] != '.' && bytes.IndexByte(name, '/') < 0 // a segment with a leading dot may be a dot segment
}

// headPlain appends the head that respond writes, in the form of net/http.
func headPlain(dst []byte, r *plainhttp.Request, contentType string, length int) []byte {
	dst = append(dst, "HTTP/1.1 200 OK\r\n"...)
	if !r.Last() {
		dst = append(dst, "Connection: keep-alive\r\n"...)
	}
	dst = strconv.AppendInt(append(dst, "Content-Length: "...), int64(length), 10)
	dst = append(append(dst, "\r\nContent-Type: "...), contentType...)
	return r.AppendEnd(append(dst, "\r\nServer: gofence\r\n"...))
}

// refusePlain appends the answer that refuse writes.
func refusePlain(dst []byte, r *plainhttp.Request, err error) []byte {
	status, line := statusOf(err), err.Error()
	dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(status), 10)
	dst = append(append(append(dst, ' '), http.StatusText(status)...), "\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(line)+1), 10)
	dst = r.AppendEnd(append(dst, "\r\nContent-Type: "+refusalType+"\r\nX-Content-Type-Options: nosniff\r\n"...))
	return append(append(dst, line...), '\n')
}
