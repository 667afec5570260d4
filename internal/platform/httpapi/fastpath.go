package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"paddock/fence/geometry"
	"paddock/internal/netio/plainhttp"
	"paddock/internal/platform/budget"
	"paddock/internal/platform/lookup"
)

// maxFast bounds an answer of the fast path, in bytes: a size that needs no budget. Larger answers
// are left to net/http.
const maxFast = budget.Free

// appendAnswer is the fast path: it appends the answer to a plain look-up. It returns nil to leave
// the request to ServeHTTP, which would give the same bytes. It does not check credentials: see
// admits.
func (a *API) appendAnswer(dst []byte, r *plainhttp.Request) []byte {
	if r.FromPage && len(a.cfg.CORSOrigins) > 0 {
		return nil // its answer may have headers for the page
	}
	if string(r.Path) == "/v1/search" {
		return a.appendSearch(dst, r)
	}
	if a.cfg.Gofence != nil {
		return a.cfg.Gofence.AppendAnswer(dst, r)
	}
	return nil
}

// fastSearch is a look-up on the fast path. It belongs to one goroutine.
type fastSearch struct {
	lookup     lookup.Lookup
	terms      lookup.Terms
	generation uint64
	set        string // the last requested name, which is converted from bytes once
	at         geometry.Point
	seen       uint8 // of the parameters
}

var fastSearches = sync.Pool{New: func() any { return &fastSearch{lookup: lookup.Lookup{Limit: maxFast}} }}

// release returns s to the pool, without the snapshot of any set.
func (s *fastSearch) release() {
	s.lookup.End()
	if cap(s.lookup.Answer) <= 2*maxFast {
		fastSearches.Put(s)
	}
}

// appendSearch answers GET and POST /v1/search. Of the refusals it answers only those about the
// set, because clients that name a generation often receive them.
//
// hot: BenchmarkFastSearch, TestFastSearchesAllocateNothing
func (a *API) appendSearch(dst []byte, r *plainhttp.Request) []byte {
	s := fastSearches.Get().(*fastSearch)
	defer s.release()
	var err error
	switch {
	case !s.parameters(r.Query):
		return nil
	case r.Method == plainhttp.GET && s.located():
		err = a.fastPoint(s)
	case r.Method == plainhttp.POST && s.seen&(seenLon|seenLat) == 0 && !r.FromPage && isJSON(r.ContentType) && int64(len(r.Body)) <= a.cfg.MaxBody:
		err = s.lookup.JSON(a.cfg.Catalog, s.terms, r.Body)
	default:
		return nil
	}
	if err != nil {
		return appendRefusal(dst, r, err)
	}
	dst = append(dst, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(s.lookup.Answer)), 10)
	dst = r.AppendEnd(append(dst, "\r\nContent-Type: application/json\r\n"...))
	return append(dst, s.lookup.Answer...)
}

// fastPoint looks up the point of the parameters.
func (a *API) fastPoint(s *fastSearch) error {
	if err := s.lookup.Open(a.cfg.Catalog, s.terms); err != nil {
		return err
	}
	if err := s.lookup.Point(s.at); err != nil {
		return err
	}
	s.lookup.Answer = append(s.lookup.Answer, '\n')
	return nil
}

// isJSON reports whether a media type is a common one that is read as JSON. Most other types are
// read as JSON too: see look.
func isJSON(contentType []byte) bool {
	switch string(contentType) {
	case "", "application/json", "application/json; charset=utf-8", "application/geo+json", "application/x-www-form-urlencoded":
		return true
	}
	return false
}

// The parameters of a search, as bits.
const (
	seenLon = 1 << iota
	seenLat
	seenSet
	seenGeneration
	seenProperties
)

// parameters parses the query of a search. It returns false, to leave the query to params and
// terms, if a parameter is unknown, repeated or escaped.
func (s *fastSearch) parameters(query []byte) bool {
	s.terms, s.seen = lookup.Terms{}, 0
	if bytes.ContainsAny(query, "%+;") {
		return false
	}
	for len(query) > 0 {
		var parameter []byte
		parameter, query, _ = bytes.Cut(query, []byte{'&'})
		name, value, _ := bytes.Cut(parameter, []byte{'='})
		before := s.seen
		if !s.parameter(name, value) || s.seen == before {
			return false
		}
	}
	return true
}

// parameter parses one parameter and marks it as seen.
func (s *fastSearch) parameter(name, value []byte) bool {
	var err error
	switch string(name) {
	case "lon":
		s.seen |= seenLon
		s.at.Lon, err = strconv.ParseFloat(string(value), 64)
	case "lat":
		s.seen |= seenLat
		s.at.Lat, err = strconv.ParseFloat(string(value), 64)
	case "set":
		s.seen |= seenSet
		if s.set != string(value) {
			s.set = string(value)
		}
		s.terms.Set = s.set
	case "generation":
		s.seen |= seenGeneration
		s.generation, err = strconv.ParseUint(string(value), 10, 64)
		s.terms.Generation = &s.generation
	case "properties":
		s.seen |= seenProperties
		return s.choose(value)
	default:
		return false
	}
	return err == nil
}

// choose parses a choice of properties.
func (s *fastSearch) choose(value []byte) bool {
	switch string(value) {
	case "", lookup.PropertiesAll:
	case lookup.PropertiesNone:
		s.terms.Properties = lookup.PropertiesNone
	default:
		return false
	}
	return true
}

// located reports whether there is a valid point.
func (s *fastSearch) located() bool {
	const both = seenLon | seenLat
	return s.seen&both == both && lookup.Check(s.at) == nil
}

// appendRefusal answers that there is no such set, or that it is at another generation. Other
// refusals are left to net/http.
func appendRefusal(dst []byte, r *plainhttp.Request, err error) []byte {
	e, ok := errors.AsType[*lookup.Error](err)
	if !ok || e.Kind != lookup.NoSet && e.Kind != lookup.Gone {
		return nil
	}
	status := e.Kind.Status()
	text := fail(status, "%s", e.Reason).text()
	dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(status), 10)
	dst = append(append(append(dst, ' '), http.StatusText(status)...), "\r\nCache-Control: no-store\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = r.AppendEnd(append(dst, "\r\nContent-Type: "+problemType+"\r\n"...))
	return append(dst, text...)
}
