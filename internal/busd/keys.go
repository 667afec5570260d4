package busd

import (
	"errors"
	"maps"
	"strings"

	"paddock/internal/busd/natsconf"
)

// apply takes over a whole file.
func (s *Settings) apply(root *natsconf.Node) error {
	d, a := &decoder{ignore: s.Ignore}, new(authorization)
	table := d.broker(s, a)
	maps.Copy(table, d.program(s))
	d.fields(root, table)
	d.admit(s, a)
	d.connect(s)
	s.Warnings = append(s.Warnings, d.warnings...)
	return errors.Join(d.problems...)
}

// broker returns the keys that mean the same wherever the broker runs.
func (d *decoder) broker(s *Settings, a *authorization) setters {
	return setters{
		"server_name":             d.name(&s.Bus.ServerName),
		"client_advertise":        d.text(&s.Bus.Advertise),
		"max_control_line":        number(d, 0, &s.Bus.MaxControlLine),
		"max_subscriptions":       d.limitOr(&s.Bus.MaxSubs, -1),
		"max_subscription_tokens": d.limit(&s.Bus.MaxSubTokens),
		"no_header_support":       d.boolean(&s.Bus.NoHeaders),
		"max_closed_clients":      d.limit(&s.Bus.MaxClosed),
		"ping_max":                number(d, 0, &s.Bus.PingMax),

		"http":           d.listen(&s.HTTP.Host, &s.HTTP.Port),
		"https":          d.listen(&s.HTTP.Host, &s.HTTP.TLSPort),
		"http_port":      d.port(&s.HTTP.Port),
		"https_port":     d.port(&s.HTTP.TLSPort),
		"http_base_path": d.text(&s.HTTP.BasePath),
		"server_tags":    d.texts(&s.Tags),

		"authorization":  func(f *natsconf.Field) { d.authorization(a, f) },
		"accounts":       func(f *natsconf.Field) { d.accounts(a, f) },
		"system_account": d.text(&a.system),
		"no_auth_user":   func(f *natsconf.Field) { a.noAuthAt = f.Pos; d.text(&a.noAuthUser)(f) },
		"paddock":        func(f *natsconf.Field) { d.paddock(s, f) },

		"tls":           func(f *natsconf.Field) { s.Bus.TLS = d.tlsBlock(f) },
		"allow_non_tls": d.boolean(&s.allowNonTLS),
		"websocket":     func(f *natsconf.Field) { s.Bus.WebSocket = d.webSocket(s, f) },
	}.alias("system", "system_account", "max_subs", "max_subscriptions", "max_sub_tokens", "max_subscription_tokens",
		"monitor_port", "http_port", "ws", "websocket",
	).
		with(d.silent, harmlessKeys...).
		with(d.missing, missingKeys...).
		with(d.promised, promisedKeys...).
		with(d.refused, refusedKeys...)
}

// program returns the keys of the broker as a program, and of the settings that the platform has
// under names of its own.
func (d *decoder) program(s *Settings) setters {
	stamped := true
	return setters{
		"listen":                 d.listen(&s.Bus.Host, &s.Bus.Port),
		"host":                   d.text(&s.Bus.Host),
		"port":                   d.port(&s.Bus.Port),
		"max_connections":        d.limit(&s.Bus.MaxConns),
		"max_payload":            number(d, 0, &s.Bus.MaxPayload),
		"max_pending":            number(d, 0, &s.Bus.MaxPending),
		"ping_interval":          d.duration(&s.Bus.PingInterval),
		"write_deadline":         d.duration(&s.Bus.WriteDeadline),
		"lame_duck_duration":     d.duration(&s.Bus.LameDuckDuration),
		"lame_duck_grace_period": d.duration(&s.Bus.LameDuckGrace),
		"prof_port":              d.port(&s.Profile),
		"pid_file":               d.text(&s.PidFile),
		"ports_file_dir":         d.text(&s.PortsDir),

		"logfile":            d.text(&s.Log.File),
		"logfile_size_limit": number(d, 0, &s.Log.MaxBytes),
		"logfile_max_num":    number(d, 0, &s.Log.MaxFiles),
		"debug":              d.boolean(&s.Log.Debug),
		"logtime":            func(f *natsconf.Field) { d.boolean(&stamped)(f); s.Log.NoTime = !stamped },
		"logtime_utc":        d.boolean(&s.Log.UTC),
		"syslog":             d.boolean(&s.Log.Syslog),
		"remote_syslog":      d.text(&s.Log.Remote),
	}.alias("net", "host", "max_conn", "max_connections", "pidfile", "pid_file",
		"log_file", "logfile", "log_size_limit", "logfile_size_limit", "log_max_num", "logfile_max_num",
	).
		with(d.boolean(&s.Log.Trace), "trace", "trace_verbose", "trace_headers")
}

func (d *decoder) name(dst *string) setter {
	return func(f *natsconf.Field) {
		if d.text(dst)(f); strings.Contains(*dst, " ") {
			d.fail(f.Pos, "%s cannot contain spaces", f.Key)
		}
	}
}
