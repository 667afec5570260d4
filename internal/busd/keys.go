package busd

import (
	"errors"
	"strings"

	"paddock/internal/busd/natsconf"
)

// apply takes over a whole file.
func (s *Settings) apply(root *natsconf.Node) error {
	d := &decoder{ignore: s.Ignore}
	a, stamped := new(authorization), true
	d.fields(root, setters{
		"listen":                  d.listen(&s.Bus.Host, &s.Bus.Port),
		"host":                    d.text(&s.Bus.Host),
		"port":                    d.port(&s.Bus.Port),
		"server_name":             d.name(&s.Bus.ServerName),
		"client_advertise":        d.text(&s.Bus.Advertise),
		"max_connections":         d.limit(&s.Bus.MaxConns),
		"max_payload":             number(d, 0, &s.Bus.MaxPayload),
		"max_pending":             number(d, 0, &s.Bus.MaxPending),
		"max_control_line":        number(d, 0, &s.Bus.MaxControlLine),
		"max_subscriptions":       d.limitOr(&s.Bus.MaxSubs, -1),
		"max_subscription_tokens": d.limit(&s.Bus.MaxSubTokens),
		"no_header_support":       d.boolean(&s.Bus.NoHeaders),
		"max_closed_clients":      d.limit(&s.Bus.MaxClosed),
		"ping_interval":           d.duration(&s.Bus.PingInterval),
		"ping_max":                number(d, 0, &s.Bus.PingMax),
		"write_deadline":          d.duration(&s.Bus.WriteDeadline),
		"lame_duck_duration":      d.duration(&s.Bus.LameDuckDuration),
		"lame_duck_grace_period":  d.duration(&s.Bus.LameDuckGrace),
		"http":                    d.listen(&s.HTTP.Host, &s.HTTP.Port),
		"https":                   d.listen(&s.HTTP.Host, &s.HTTP.TLSPort),
		"http_port":               d.port(&s.HTTP.Port),
		"https_port":              d.port(&s.HTTP.TLSPort),
		"http_base_path":          d.text(&s.HTTP.BasePath),
		"prof_port":               d.port(&s.Profile),
		"pid_file":                d.text(&s.PidFile),
		"ports_file_dir":          d.text(&s.PortsDir),
		"server_tags":             d.texts(&s.Tags),
		"authorization":           func(f *natsconf.Field) { d.authorization(a, f) },
		"accounts":                func(f *natsconf.Field) { d.accounts(a, f) },
		"system_account":          d.text(&a.system),
		"no_auth_user":            func(f *natsconf.Field) { a.noAuthAt = f.Pos; d.text(&a.noAuthUser)(f) },
		"paddock":                 func(f *natsconf.Field) { d.paddock(s, f) },

		"tls":           func(f *natsconf.Field) { s.Bus.TLS = d.tlsBlock(f) },
		"allow_non_tls": d.boolean(&s.allowNonTLS),
		"websocket":     func(f *natsconf.Field) { s.Bus.WebSocket = d.webSocket(s, f) },

		"logfile":            d.text(&s.Log.File),
		"logfile_size_limit": number(d, 0, &s.Log.MaxBytes),
		"logfile_max_num":    number(d, 0, &s.Log.MaxFiles),
		"debug":              d.boolean(&s.Log.Debug),
		"logtime":            func(f *natsconf.Field) { d.boolean(&stamped)(f); s.Log.NoTime = !stamped },
		"logtime_utc":        d.boolean(&s.Log.UTC),
		"syslog":             d.boolean(&s.Log.Syslog),
		"remote_syslog":      d.text(&s.Log.Remote),
	}.alias("system", "system_account", "net", "host", "max_conn", "max_connections", "max_subs", "max_subscriptions",
		"max_sub_tokens", "max_subscription_tokens", "monitor_port", "http_port", "pidfile", "pid_file", "ws", "websocket",
		"log_file", "logfile", "log_size_limit", "logfile_size_limit", "log_max_num", "logfile_max_num",
	).
		with(d.boolean(&s.Log.Trace), "trace", "trace_verbose", "trace_headers").
		with(d.silent, harmlessKeys...).
		with(d.missing, missingKeys...).
		with(d.promised, promisedKeys...).
		with(d.refused, refusedKeys...))
	d.admit(s, a)
	s.Warnings = append(s.Warnings, d.warnings...)
	return errors.Join(d.problems...)
}

func (d *decoder) name(dst *string) setter {
	return func(f *natsconf.Field) {
		if d.text(dst)(f); strings.Contains(*dst, " ") {
			d.fail(f.Pos, "%s cannot contain spaces", f.Key)
		}
	}
}
