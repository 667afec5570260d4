package busd

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"paddock/internal/busd/natsconf"
	"paddock/internal/process/strictyaml"
)

// SectionKeys are the keys of [ReadSection] by their usual names.
var SectionKeys = []string{
	"tls", "allow_non_tls", "authorization", "accounts", "no_auth_user", "websocket",
	"http", "https", "http_base_path", "server_name", "server_tags", "client_advertise", "no_header_support",
	"max_control_line", "max_subscriptions", "max_subscription_tokens", "max_closed_clients", "ping_max", "paddock",
}

// elsewhereKeys name the settings of the platform that do what keys of the program do.
var elsewhereKeys = map[string]string{
	"host": "bus.listen", "net": "bus.listen", "port": "bus.listen", "max_conn": "bus.max_connections",
	"prof_port": "http.profile", "debug": "log.level",
}

// InSection reports whether [ReadSection] reads a key or has a reason to refuse it.
func InSection(key string) bool {
	_, ok := sectionTable(&decoder{}, new(Settings), new(authorization))[key]
	return ok
}

func sectionTable(d *decoder, s *Settings, a *authorization) setters {
	return d.broker(s, a).with(d.elsewhere, slices.Collect(maps.Keys(d.program(s)))...)
}

// ReadSection reads settings of the broker in the section bus of the platform's file. The keys
// below the section are those of a configuration file, and values have the types of YAML: a string
// that reads as a number takes quotes. Relative paths begin at dir. Faults are added to the file.
func ReadSection(entries []strictyaml.Entry, dir string) *Settings {
	s, a, tree := new(Settings), new(authorization), yamlTree{}
	d := &decoder{section: true, dir: dir}
	root := &natsconf.Node{Kind: natsconf.Map, Fields: tree.fields(entries)}
	d.fields(root, sectionTable(d, s, a))
	d.admit(s, a)
	d.connect(s)
	for _, problem := range d.problems {
		if e, ok := errors.AsType[*natsconf.Error](problem); ok {
			tree[e.Pos].Check(errors.New(e.Text))
		}
	}
	s.Digest, _ = natsconf.Digest(root) // of texts and numbers, which have one
	s.Warnings = d.warnings
	return s
}

// elsewhere refuses a key of the broker as a program of its own.
func (d *decoder) elsewhere(f *natsconf.Field) {
	key := strings.ToLower(f.Key)
	if name, ok := elsewhereKeys[key]; ok {
		d.fail(f.Pos, "%s is a setting of paddock bus alone; set %s", key, name)
		return
	}
	d.fail(f.Pos, "%s is a setting of paddock bus alone", key)
}

// yamlTree turns values of YAML into those of a configuration file, and holds the former by their
// places.
type yamlTree map[natsconf.Pos]*strictyaml.Node

func (t yamlTree) place(n *strictyaml.Node) (at natsconf.Pos) {
	at.File, at.Line, at.Col = n.Position()
	t[at] = n
	return at
}

// fields leaves out entries with values that are faulty.
func (t yamlTree) fields(entries []strictyaml.Entry) (all []*natsconf.Field) {
	for _, e := range entries {
		if e.Value.Empty() {
			e.Text(e.Key) // which adds the fault
			continue
		}
		if v := t.value(e.Key, e.Value); v != nil {
			all = append(all, &natsconf.Field{Key: e.Key, Pos: t.place(e.At), Value: v})
		}
	}
	return all
}

func (t yamlTree) value(what string, n *strictyaml.Node) *natsconf.Node {
	v := &natsconf.Node{Pos: t.place(n)}
	switch x := n.Typed(what).(type) {
	case string:
		v.Kind, v.Text = natsconf.String, x
	case int64:
		v.Kind, v.Int = natsconf.Integer, x
	case float64:
		v.Kind, v.Float = natsconf.Float, x
	case bool:
		v.Kind, v.Bool = natsconf.Bool, x
	case []*strictyaml.Node:
		v.Kind = natsconf.Array
		for _, item := range x {
			if of := t.value("an item of "+what, item); of != nil {
				v.List = append(v.List, of)
			}
		}
	case []strictyaml.Entry:
		v.Kind, v.Fields = natsconf.Map, t.fields(x)
	default:
		return nil
	}
	return v
}

// Clone returns a copy whose Bus may be changed. The copy of nil has no settings.
func (s *Settings) Clone() *Settings {
	if s == nil {
		return new(Settings)
	}
	c := *s
	if t := c.Bus.TLS; t != nil {
		own := *t
		c.Bus.TLS = &own
	}
	if w := c.Bus.WebSocket; w != nil {
		own := *w
		c.Bus.WebSocket = &own
	}
	return &c
}
