package monitor

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// query is the arguments of a request. One that is absent or empty is its zero. The first bad one
// is reported by err, whose text is that of a 400, as clients know it.
type query struct {
	url.Values
	err error
}

// refuse sets the answer to a 400, unless there is one already.
func (q *query) refuse(format string, args ...any) {
	if q.err == nil {
		q.err = fmt.Errorf(format, args...)
	}
}

func (q *query) bool(name string) bool { return decode(q, name, "boolean", strconv.ParseBool) }

// bools checks arguments that make no difference here.
func (q *query) bools(names ...string) {
	for _, name := range names {
		q.bool(name)
	}
}

func (q *query) int(name string) int { return decode(q, name, "int", strconv.Atoi) }

func (q *query) uint64(name string) uint64 {
	return decode(q, name, "uint64", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
}

func decode[T any](q *query, name, kind string, parse func(string) (T, error)) (v T) {
	s := q.Get(name)
	if s == "" {
		return v
	}
	parsed, err := parse(s)
	if err != nil {
		q.refuse("Error decoding %s for '%s': %v", kind, name, err)
		return v
	}
	return parsed
}

// listing is the requested form of a list.
type listing int

const (
	without listing = iota
	short
	detailed
)

// subs reports whether subscriptions are requested, and their detail.
func (q *query) subs() listing {
	switch {
	case strings.EqualFold(q.Get("subs"), "detail"):
		return detailed
	case q.bool("subs"):
		return short
	default:
		return without
	}
}

// defaultLimit bounds the entries of a list if the query does not.
const defaultLimit = 1024

// page is which part of a list is asked for.
type page struct{ offset, limit int }

func (q *query) page() page {
	p := page{offset: max(q.int("offset"), 0), limit: q.int("limit")}
	if p.limit <= 0 {
		p.limit = defaultLimit
	}
	return p
}

// cut returns the part of a list that p asks for.
func cut[T any](list []T, p page) []T {
	from := min(p.offset, len(list))
	return list[from : from+min(p.limit, len(list)-from)]
}
