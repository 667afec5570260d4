package busd

import (
	"strings"

	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// permissions reads what a user may publish and subscribe to.
func (d *decoder) permissions(f *natsconf.Field) *bus.Permissions {
	p := new(bus.Permissions)
	d.mapping(f, setters{
		"publish":         func(f *natsconf.Field) { d.subjects(&p.Publish, f, false) },
		"subscribe":       func(f *natsconf.Field) { d.subjects(&p.Subscribe, f, true) },
		"allow_responses": func(f *natsconf.Field) { p.AllowResponses = d.responses(f) },
	}.alias("pub", "publish", "import", "publish", "sub", "subscribe", "export", "subscribe", "publish_allow_responses", "allow_responses"))
	return p
}

// subjects reads a list of what is allowed, or a map with allow and deny.
func (d *decoder) subjects(dst *bus.SubjectPermission, f *natsconf.Field, queues bool) {
	if f.Value.Kind != natsconf.Map {
		d.patterns(&dst.Allow, queues)(f)
		return
	}
	d.fields(f.Value, setters{
		"allow": d.patterns(&dst.Allow, queues),
		"deny":  d.patterns(&dst.Deny, queues),
	})
}

// patterns takes patterns of subjects; with queues, one may name a queue behind.
func (d *decoder) patterns(dst *[]string, queues bool) setter {
	return func(f *natsconf.Field) {
		d.texts(dst)(f)
		for _, text := range *dst {
			words := strings.Fields(text)
			ok := len(words) == 1 && words[0] == text || queues && len(words) == 2
			for _, w := range words {
				ok = ok && bus.ValidPattern(w)
			}
			if !ok {
				d.fail(f.Pos, "%q is no pattern of subjects", text)
			}
		}
	}
}

// responses reads how often a request may be answered. true means the defaults.
func (d *decoder) responses(f *natsconf.Field) *bus.ResponsePermission {
	r := new(bus.ResponsePermission)
	if f.Value.Kind == natsconf.Bool {
		if !f.Value.Bool {
			return nil
		}
		return r
	}
	d.mapping(f, setters{
		"max": func(f *natsconf.Field) {
			if d.is(f, natsconf.Integer) {
				r.Max = int(max(f.Value.Int, -1))
			}
		},
		"expires": func(f *natsconf.Field) {
			if f.Value.Kind == natsconf.String && strings.HasPrefix(f.Value.Text, "-") {
				r.Expires = -1
				return
			}
			d.seconds(&r.Expires)(f)
		},
	}.alias("max_msgs", "max", "max_messages", "max", "max_responses", "max", "expiration", "expires", "ttl", "expires"))
	return r
}
