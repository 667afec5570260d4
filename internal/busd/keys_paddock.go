package busd

import (
	"net/url"
	"strings"

	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// policies are the values of slow_consumers.
var policies = []bus.SlowPolicy{bus.SlowClose, bus.SlowDropNew, bus.SlowDropOld, bus.SlowStall}

// ParsePolicy reads what becomes of a client that does not keep up, by the name that
// [bus.SlowPolicy] prints.
func ParsePolicy(name string) (bus.SlowPolicy, bool) {
	for _, p := range policies {
		if p.String() == strings.ToLower(name) {
			return p, true
		}
	}
	return 0, false
}

// paddock reads the block of what only this broker has. It is best in an included
// file, so that one line takes it out again.
func (d *decoder) paddock(s *Settings, f *natsconf.Field) {
	table := setters{
		"slow_consumers": func(f *natsconf.Field) {
			if !d.is(f, natsconf.String) {
				return
			}
			policy, ok := ParsePolicy(f.Value.Text)
			if !ok {
				d.fail(f.Pos, "slow_consumers is one of close, drop-new, drop-old, stall, not %q", f.Value.Text)
			}
			s.Bus.SlowConsumers = policy
		},
		"migrate_to": func(f *natsconf.Field) {
			d.texts(&s.Bus.MigrateTo)(f)
			for _, text := range s.Bus.MigrateTo {
				if u, err := url.Parse(text); err != nil || u.Host == "" && strings.Contains(text, "/") {
					d.fail(f.Pos, "migrate_to: %q is no URL of a server", text)
				}
			}
		},
		"deny":     d.patterns(&s.Bus.DenyPublish, false),
		"prefixes": d.texts(&s.Bus.Prefixes),
		"unix":     d.path(&s.Bus.Unix),
		"bridges":  d.bridges(s),
	}
	if d.section {
		table.with(d.elsewhere, "migrate_to") // there is no lame duck mode
	}
	d.mapping(f, table)
}
