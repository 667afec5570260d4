package rule

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"paddock/fence/track/rule/internal/document"
	"paddock/internal/process/spelling"
)

// reader reads one value of a document. Faults gather in one list, with the path of the value.
type reader struct {
	*document.Value
	path   string
	faults *Faults
}

func (r reader) fault(format string, args ...any) { r.faults.addf(r.path, format, args...) }

// is reports whether the value is of this kind. Another one is a fault.
func (r reader) is(want document.Kind) bool {
	switch {
	case r.Kind == want:
		return true
	case want == document.Text && (r.Kind == document.Number || r.Kind == document.Bool):
		r.fault("%s is not a text: put it in quotes", r.Text)
	default:
		r.fault("%s is not %v", r.kindText(), want)
	}
	return false
}

// kindText names the value in a fault.
func (r reader) kindText() string {
	switch r.Kind {
	case document.Number, document.Bool:
		return r.Text
	case document.Text:
		return strconv.Quote(shorten(r.Text))
	}
	return r.Kind.String()
}

// shorten bounds a text in a fault.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// fields reads an object by the function of each member. Other members are faults.
func (r reader) fields(read map[string]func(reader)) {
	if !r.is(document.Object) {
		return
	}
	for _, m := range r.Members {
		member := reader{m.Value, join(r.path, m.Key), r.faults}
		if f, known := read[m.Key]; known {
			f(member)
		} else {
			member.fault("there is no such field; %s", spelling.Advice(m.Key, slices.Sorted(maps.Keys(read))))
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// items yields the values of a list of at most most values.
func (r reader) items(most int, read func(reader)) {
	if !r.is(document.List) {
		return
	}
	if len(r.Items) > most {
		r.fault("%d values, the limit is %d", len(r.Items), most)
		return
	}
	for i, item := range r.Items {
		read(reader{item, r.path + "[" + strconv.Itoa(i) + "]", r.faults})
	}
}

// into reads a text with parse.
func into[T any](field *T, parse func(string) (T, error)) func(reader) {
	return func(r reader) {
		if !r.is(document.Text) {
			return
		}
		v, err := parse(r.Text)
		if err != nil {
			r.fault("%w", err)
			return
		}
		*field = v
	}
}

// plain reads a text as it is.
func plain(field *string) func(reader) {
	return into(field, func(s string) (string, error) { return s, nil })
}

// span reads a duration such as "5m".
func span(field *time.Duration) func(reader) {
	return func(r reader) {
		if r.Kind == document.Number {
			r.fault(`%s has no unit: write "%[1]ss", or another of ms, s, m, h`, r.Text)
			return
		}
		into(field, time.ParseDuration)(r)
	}
}

// float reads a number.
func (r reader) float(field *float64) {
	if !r.is(document.Number) {
		return
	}
	f, err := strconv.ParseFloat(r.Text, 64)
	if err != nil {
		r.fault("%s is too large a number", shorten(r.Text))
		return
	}
	*field = f
}

// whole reads a whole number.
func (r reader) whole(field *int) {
	if !r.is(document.Number) {
		return
	}
	n, err := strconv.Atoi(r.Text)
	if err != nil {
		r.fault("%s is no whole number", shorten(r.Text))
		return
	}
	*field = n
}
