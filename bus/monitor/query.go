package monitor

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// refusal is the text of a 400, as clients know it.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// query is the arguments of a request. One that is absent or empty is its zero. The
// errors are refusals.
type query struct{ url.Values }

func (q query) bool(name string) (bool, error) {
	v, err := decode(q, name, strconv.ParseBool)
	if err != nil {
		return false, refuse("Error decoding boolean for '%s': %v", name, err)
	}
	return v, nil
}

func (q query) int(name string) (int, error) {
	v, err := decode(q, name, strconv.Atoi)
	if err != nil {
		return 0, refuse("Error decoding int for '%s': %v", name, err)
	}
	return v, nil
}

func (q query) uint64(name string) (uint64, error) {
	v, err := decode(q, name, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	if err != nil {
		return 0, refuse("Error decoding uint64 for '%s': %v", name, err)
	}
	return v, nil
}

func decode[T any](q query, name string, parse func(string) (T, error)) (v T, err error) {
	if s := q.Get(name); s != "" {
		return parse(s)
	}
	return v, nil
}

// listing is how much of a list's entries is asked for.
type listing int

const (
	without listing = iota
	short
	detailed
)

// subs reports whether subscriptions are requested, and their detail.
func (q query) subs() (listing, error) {
	if strings.EqualFold(q.Get("subs"), "detail") {
		return detailed, nil
	}
	on, err := q.bool("subs")
	if on {
		return short, err
	}
	return without, err
}

// defaultLimit is how many entries a list has unless told.
const defaultLimit = 1024

// page is which part of a list is asked for.
type page struct{ offset, limit int }

func (q query) page() (p page, err error) {
	if p.offset, err = q.int("offset"); err != nil {
		return p, err
	}
	if p.limit, err = q.int("limit"); err != nil {
		return p, err
	}
	if p.offset = max(p.offset, 0); p.limit <= 0 {
		p.limit = defaultLimit
	}
	return p, nil
}

// cut returns the part of a list that p asks for.
func cut[T any](list []T, p page) []T {
	from := min(p.offset, len(list))
	return list[from : from+min(p.limit, len(list)-from)]
}
