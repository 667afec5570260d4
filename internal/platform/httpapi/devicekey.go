package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"paddock/internal/process/access"
)

// devicePrefix begins the paths of the doors for devices: /in/<door>, /in/<door>/<key>.
const devicePrefix = "/in/"

// deviceRequest is a request to a door for devices. Devices often cannot set headers, so the key
// may be in the URL.
type deviceRequest struct {
	door string // of the path; "" if there is none of that name
	key  string // of the URL; "": none, or in the header Authorization
}

type deviceRequestKey struct{}

// device returns what cutKey has found in the URL of a request.
func device(r *http.Request) (d deviceRequest, ok bool) {
	d, ok = r.Context().Value(deviceRequestKey{}).(deviceRequest)
	return d, ok
}

// cutKey takes the key out of the URL of a request to a door for devices, before any other code
// sees the URL: nothing that logs, reports or lists a request can have the key.
func cutKey(r *http.Request) *http.Request {
	var d deviceRequest
	switch {
	case strings.HasPrefix(r.URL.Path, devicePrefix):
		var rest string
		d.door, rest, _ = strings.Cut(r.URL.Path[len(devicePrefix):], "/")
		d.key = strings.Trim(rest, "/")
		if deviceDoors[d.door] == nil { // it may be a key
			d.door = ""
		}
		r.URL.Path = devicePrefix + d.door
	case r.URL.Path == "/" && isReport(r.URL.RawQuery):
		d.door = "osmand"
	default:
		return r
	}
	var inQuery string
	r.URL.RawQuery, inQuery = withoutKey(r.URL.RawQuery)
	if d.key == "" {
		d.key = inQuery
	}
	r.URL.RawPath = ""
	r.RequestURI = r.URL.RequestURI()
	return r.WithContext(context.WithValue(r.Context(), deviceRequestKey{}, d))
}

// isReport reports whether a query is the one of a phone, so that it is no mistyped address of the
// dashboard.
func isReport(query string) bool {
	seen := map[string]bool{}
	for name := range parameters(query) {
		seen[name] = true
	}
	return seen["id"] && seen["lat"] && seen["lon"]
}

// parameters yields the parameters of a query or form: their names, and how they are written.
func parameters(query string) func(yield func(name, written string) bool) {
	return func(yield func(name, written string) bool) {
		for query != "" {
			var one string
			one, query, _ = strings.Cut(query, "&")
			name, _, _ := strings.Cut(one, "=")
			if plain, err := url.QueryUnescape(name); err == nil {
				name = plain
			}
			if !yield(name, one) {
				return
			}
		}
	}
}

// withoutKey returns a query or form without its parameter key, and the first value of that.
func withoutKey(query string) (rest, key string) {
	var left []string
	for name, written := range parameters(query) {
		if name != "key" {
			left = append(left, written)
			continue
		}
		if _, value, _ := strings.Cut(written, "="); key == "" {
			if key, _ = url.QueryUnescape(value); key == "" {
				key = value
			}
		}
	}
	return strings.Join(left, "&"), key
}

// admitDevice decides on the key of a device. It is the one place that looks at it.
func (a *API) admitDevice(r *http.Request, key string) access.Verdict {
	if key == "" {
		return a.access.Judge(r)
	}
	keyed := r.WithContext(r.Context())
	keyed.Header = http.Header{"Authorization": {"Bearer " + key}}
	return a.access.Judge(keyed)
}

// judge decides on a request by its token, or by the key of a device.
func (a *API) judge(r *http.Request) (verdict access.Verdict, advice string) {
	if d, ok := device(r); ok {
		return a.admitDevice(r, d.key), "send the key behind the path, as /in/osmand/KEY, as parameter key, as the password of Basic, or as Authorization: Bearer KEY"
	}
	return a.access.Judge(r), "send the token as Authorization: Bearer TOKEN, or as the password of Basic"
}
