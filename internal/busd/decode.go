package busd

import (
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/internal/busd/natsconf"
)

// A setter takes over one entry of a map. It reports what is wrong to the decoder.
type setter func(f *natsconf.Field)

// setters are the keys of a map, in lower case.
type setters map[string]setter

// decoder gives the keys of a file their meaning, and collects what it finds wrong:
// an operator wants to see all of it at once.
type decoder struct {
	ignore    []string     // keys of promisedKeys
	section   bool         // of the platform's file: keys of the program alone are refused
	dir       string       // of relative paths; "" = the process's
	bridgesAt natsconf.Pos // of the key
	problems  []error
	warnings  []string
}

func (d *decoder) fail(at natsconf.Pos, format string, args ...any) {
	d.problems = append(d.problems, &natsconf.Error{Pos: at, Text: fmt.Sprintf(format, args...)})
}

func (d *decoder) warn(at natsconf.Pos, format string, args ...any) {
	d.warnings = append(d.warnings, at.String()+": "+fmt.Sprintf(format, args...))
}

// fields hands each entry to its setter. Keys are in lower case in the table and in
// any case in a file. An entry that no table knows is a mistake, unless it is there
// to be a variable.
func (d *decoder) fields(n *natsconf.Node, table setters) {
	for _, f := range n.Fields {
		if set, ok := table[strings.ToLower(f.Key)]; ok {
			set(f)
		} else if !f.Used {
			d.fail(f.Pos, "unknown field %q", f.Key)
		}
	}
}

// mapping is fields for an entry that holds a map.
func (d *decoder) mapping(f *natsconf.Field, table setters) {
	if d.is(f, natsconf.Map) {
		d.fields(f.Value, table)
	}
}

// alias adds further names of keys: pairs of the name and the key.
func (t setters) alias(names ...string) setters {
	for i := 0; i < len(names); i += 2 {
		t[names[i]] = t[names[i+1]]
	}
	return t
}

// with adds keys that have one meaning.
func (t setters) with(set setter, keys ...string) setters {
	for _, key := range keys {
		t[key] = set
	}
	return t
}

func (d *decoder) is(f *natsconf.Field, kind natsconf.Kind) bool {
	if f.Value.Kind == kind {
		return true
	}
	d.fail(f.Pos, "%s takes %v, not %v", f.Key, kind, f.Value.Kind)
	return false
}

func (d *decoder) text(dst *string) setter {
	return func(f *natsconf.Field) {
		if d.is(f, natsconf.String) {
			*dst = f.Value.Text
		}
	}
}

// path is text that names a file; "" is none.
func (d *decoder) path(dst *string) setter {
	return func(f *natsconf.Field) {
		d.text(dst)(f)
		if *dst != "" && d.dir != "" && !filepath.IsAbs(*dst) {
			*dst = filepath.Join(d.dir, *dst)
		}
	}
}

// secret is text that must not be empty: an empty one would ask for nothing.
func (d *decoder) secret(dst *string) setter {
	return func(f *natsconf.Field) {
		d.text(dst)(f)
		if f.Value.Kind == natsconf.String && *dst == "" {
			d.fail(f.Pos, "%s is empty", f.Key)
		}
	}
}

// maps takes an array of maps, each with read; what names one of them.
func (d *decoder) maps(what string, read func(n *natsconf.Node)) setter {
	return func(f *natsconf.Field) {
		if !d.is(f, natsconf.Array) {
			return
		}
		for _, v := range f.Value.List {
			if v.Kind == natsconf.Map {
				read(v)
			} else {
				d.fail(v.Pos, "%s, not %v", what, v.Kind)
			}
		}
	}
}

func (d *decoder) boolean(dst *bool) setter {
	return func(f *natsconf.Field) {
		if d.is(f, natsconf.Bool) {
			*dst = f.Value.Bool
		}
	}
}

// number takes an integer from low on.
func number[T int | int64](d *decoder, low int64, dst *T) setter {
	return func(f *natsconf.Field) {
		if !d.is(f, natsconf.Integer) {
			return
		}
		if n := f.Value.Int; n < low || int64(T(n)) != n {
			d.fail(f.Pos, "%s cannot be %d", f.Key, n)
		} else {
			*dst = T(n)
		}
	}
}

// limit is a number for which "none" is written 0 or -1.
func (d *decoder) limit(dst *int) setter { return d.limitOr(dst, 0) }

// limitOr is limit for what is unlimited as another number here.
func (d *decoder) limitOr(dst *int, unlimited int) setter {
	return func(f *natsconf.Field) {
		n := 0
		if number(d, -1, &n)(f); n <= 0 {
			n = unlimited
		}
		*dst = n
	}
}

func (d *decoder) port(dst *int) setter {
	return func(f *natsconf.Field) {
		if d.is(f, natsconf.Integer) {
			*dst = d.checkPort(f, f.Value.Int)
		}
	}
}

func (d *decoder) checkPort(f *natsconf.Field, n int64) int {
	if n < -1 || n > math.MaxUint16 {
		d.fail(f.Pos, "%s: there is no port %d", f.Key, n)
		return 0
	}
	return int(n)
}

// listen takes a port or "host:port".
func (d *decoder) listen(host *string, port *int) setter {
	return func(f *natsconf.Field) {
		if f.Value.Kind == natsconf.Integer {
			*port = d.checkPort(f, f.Value.Int)
			return
		}
		if !d.is(f, natsconf.String) {
			return
		}
		h, p, err := net.SplitHostPort(f.Value.Text)
		n, numeric := strconv.ParseInt(p, 10, 64)
		if err != nil || numeric != nil {
			d.fail(f.Pos, "%s takes a port or \"host:port\", not %q", f.Key, f.Value.Text)
			return
		}
		*host, *port = h, d.checkPort(f, n)
	}
}

// duration takes "2s"; a bare number stands for seconds, as it once did.
func (d *decoder) duration(dst *time.Duration) setter {
	return func(f *natsconf.Field) {
		if f.Value.Kind == natsconf.Integer {
			d.warn(f.Pos, "%s is better written as a duration, such as \"%ds\"", f.Key, f.Value.Int)
		}
		d.seconds(dst)(f)
	}
}

// seconds takes a number of seconds, or a duration.
func (d *decoder) seconds(dst *time.Duration) setter {
	return func(f *natsconf.Field) {
		var err error
		switch v := f.Value; v.Kind {
		case natsconf.Integer:
			*dst, err = fromSeconds(float64(v.Int))
		case natsconf.Float:
			*dst, err = fromSeconds(v.Float)
		case natsconf.String:
			*dst, err = time.ParseDuration(v.Text)
		default:
			d.is(f, natsconf.String)
		}
		if err != nil || *dst < 0 {
			d.fail(f.Pos, "%s is no duration", f.Key)
		}
	}
}

func fromSeconds(n float64) (time.Duration, error) {
	if n *= float64(time.Second); math.Abs(n) >= math.MaxInt64 {
		return 0, strconv.ErrRange
	}
	return time.Duration(n), nil
}

// texts takes a string, or an array of them.
func (d *decoder) texts(dst *[]string) setter {
	return func(f *natsconf.Field) {
		*dst = nil
		if f.Value.Kind == natsconf.String {
			*dst = []string{f.Value.Text}
			return
		}
		if !d.is(f, natsconf.Array) {
			return
		}
		for _, v := range f.Value.List {
			if v.Kind != natsconf.String {
				d.fail(v.Pos, "%s takes strings, not %v", f.Key, v.Kind)
				continue
			}
			*dst = append(*dst, v.Text)
		}
	}
}

// silent takes an entry that changes nothing here, whatever it says.
func (d *decoder) silent(*natsconf.Field) {}
