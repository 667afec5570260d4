package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
)

// devicePrefix begins the paths of the doors for devices: /in/<door>, /in/<door>/<key>.
const devicePrefix = "/in/"

// deviceRequest is a request to a door for devices. Devices often cannot set headers, so the key
// may be in the URL.
type deviceRequest struct {
	door  string // of the path; "" if there is none of that name
	keyed bool   // the key was in the URL, so it is as visible as the URL is
}

type deviceRequestKey struct{}

// device returns what cutKey has found in the URL of a request.
func device(r *http.Request) (d deviceRequest, ok bool) {
	d, ok = r.Context().Value(deviceRequestKey{}).(deviceRequest)
	return d, ok
}

// cutKey takes the key out of the URL of a request to a door for devices, before any other code
// sees the URL: nothing that logs, reports or lists a request can have the key. From then on the
// key is the request's bearer token, which is judged as every other one is.
func cutKey(r *http.Request) *http.Request {
	var d deviceRequest
	var key string
	switch {
	case strings.HasPrefix(r.URL.Path, devicePrefix):
		d.door, key, _ = strings.Cut(r.URL.Path[len(devicePrefix):], "/")
		if deviceDoors[d.door] == nil { // it may be a key
			d.door = ""
		}
		r.URL.Path = devicePrefix + d.door
	case r.URL.Path == "/" && isReport(r.URL.RawQuery):
		d.door = "osmand"
	default:
		return r
	}
	query, inQuery := withoutKey(r.URL.RawQuery)
	r.URL.RawPath, r.URL.RawQuery = "", query
	r.RequestURI = r.URL.RequestURI()
	if key = cmp.Or(strings.Trim(key, "/"), inQuery); key != "" {
		d.keyed = true
		r.Header.Set("Authorization", "Bearer "+key)
	}
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
