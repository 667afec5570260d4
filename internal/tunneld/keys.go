package tunneld

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"paddock/internal/process/strictyaml"
)

// key is one key of the section: how its value is read, and how it is printed.
type key struct {
	name string
	read func(strictyaml.Entry)
	yaml func() string // "" is the default, which is not printed
}

type keys []key

// one is a key with one value.
func one[T any](name string, v *T, parse func(string) (T, error)) key {
	return key{name, strictyaml.Into(v, parse), func() string { return scalar(*v) }}
}

// list is a key with a list of values.
func list[T any](name string, v *[]T, parse func(string) (T, error)) key {
	return key{name, strictyaml.ListInto(v, parse), func() string {
		var all []string
		for _, item := range *v {
			all = append(all, scalar(item))
		}
		if len(all) == 0 {
			return ""
		}
		return "[" + strings.Join(all, ", ") + "]"
	}}
}

// group is a key with keys of its own.
func group(name string, inner keys) key {
	return key{name, func(e strictyaml.Entry) { inner.fields().Read(e.Value, e.Key) }, inner.flow}
}

// as prints the values other than the default as word.
func (k key) as(word string) key {
	value := k.yaml
	k.yaml = func() string {
		if value() == "" {
			return ""
		}
		return strconv.Quote(word)
	}
	return k
}

// scalar prints one value; the strings of JSON are strings of YAML.
func scalar(v any) string {
	if reflect.ValueOf(v).IsZero() {
		return ""
	}
	switch v := v.(type) {
	case bool, int, int64:
		return fmt.Sprint(v)
	case time.Time:
		return strconv.Quote(v.Format(time.RFC3339))
	case time.Duration:
		return strconv.Quote(max(v, 0).String()) // negative means no limit, which the file writes as 0s
	}
	return strconv.Quote(fmt.Sprint(v))
}

// fields are the keys for reading.
func (k keys) fields() strictyaml.Fields {
	f := strictyaml.Fields{}
	for _, key := range k {
		f[key.name] = key.read
	}
	return f
}

// flow prints the keys with their values as a mapping in flow style, or "" if all have defaults.
func (k keys) flow() string {
	var all []string
	for _, key := range k {
		if value := key.yaml(); value != "" {
			all = append(all, key.name+": "+value)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// Print writes the settings as the section tunnel, without keys that have their default. It is an
// error if a value contains "${", which would be read as a variable of the environment.
func Print(s *Settings) ([]byte, error) {
	var b strings.Builder
	if s.Original && s.Connect.RootCA == "" {
		b.WriteString("# Any server was believed. Add server_id to connect: \"paddock tunnel serve\" prints it.\n")
	}
	b.WriteString("tunnel:\n")
	var err error
	entry := func(begin string, k keys) {
		for _, key := range k {
			if err == nil && strings.Contains(key.yaml(), "${") {
				err = fmt.Errorf("%s has ${, which stands for the environment in our form", key.name)
			}
		}
		if text := k.flow(); text != "" {
			b.WriteString(begin + text + "\n")
		}
	}
	entry("  serve: ", s.serveKeys())
	if len(s.Clients) > 0 {
		b.WriteString("  clients:\n")
	}
	for i := range s.Clients {
		p := &s.Clients[i]
		c := &credential{tokenID: p.TokenID}
		if p.TokenID == "" {
			c.id = p.ID.String()
		} else {
			c.tokenSHA256 = hex.EncodeToString(p.TokenHash[:])
		}
		entry("    - ", p.keys(c))
	}
	if s.Connect.Server != "" {
		entry("  connect: ", s.connectKeys())
	}
	if len(s.Tunnels) > 0 {
		b.WriteString("  tunnels:\n")
	}
	for i := range s.Tunnels {
		entry("    "+strconv.Quote(s.Tunnels[i].Name)+": ", tunnelKeys(&s.Tunnels[i]))
	}
	entry("  backoff: ", backoffKeys(&s.Backoff))
	return []byte(b.String()), err
}

// elsewhere maps the keys of a server with a link of its own to the setting that replaces each if
// another program owns the link.
var elsewhere = map[string]string{
	"listen":      "clients come to wire.listen here",
	"key":         "clients know the platform by the key of wire.cert",
	"plaintext":   "without wire.cert the link is plain text, on this machine alone",
	"admin":       "the metrics are among those of http.listen",
	"admin_token": "the metrics are among those of http.listen, behind http.token",
}

// ServerSide are the entries of the section for a process in which the link is another
// one's: serve and clients.
func (s *Settings) ServerSide() strictyaml.Fields {
	serve := s.serveKeys().fields()
	for key, why := range elsewhere {
		serve[key] = func(e strictyaml.Entry) { e.At.Fault("serve.%s has no place here: %s", key, why) }
	}
	side := strictyaml.Fields{
		"serve":   func(e strictyaml.Entry) { s.readServe(e, serve) },
		"clients": s.fields()["clients"],
	}
	for _, key := range []string{"connect", "tunnels", "backoff"} {
		side[key] = func(e strictyaml.Entry) {
			e.At.Fault("%s is a client's, and this is the server: see \"paddock agent\" and \"paddock tunnel start\"", key)
		}
	}
	return side
}
