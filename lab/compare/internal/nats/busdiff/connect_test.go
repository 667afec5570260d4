package busdiff

import (
	"strconv"
	"strings"
)

// connect is a CONNECT with some of its fields, mostly with good credentials.
func (g *generator) connect() string {
	var fields []string
	add := func(name string, values ...string) {
		if g.one(40) {
			name = g.from(strings.ToUpper(name), strings.ToUpper(name[:min(1, len(name))])+name[min(1, len(name)):])
		}
		fields = append(fields, strconv.Quote(name)+g.from(":", ":", ":", " : ", ":\t")+g.from(values...))
	}
	flag := func(name string, odds int) {
		if g.one(odds) {
			add(name, "true", "true", "true", "false")
		}
	}
	if !g.one(3) {
		add("verbose", "false", "false", "false", "true")
	}
	if !g.one(3) {
		add("pedantic", "false", "false", "true")
	}
	flag("headers", 2)
	if g.one(4) {
		add("echo", "false", "true")
	}
	if g.one(4) {
		add("headers", "true")
		add("no_responders", "true")
	}
	flag("no_responders", 20)
	flag("tls_required", 30)
	if !g.one(3) {
		add("protocol", "1", "1", "1", "0")
	}
	if g.one(4) {
		add(g.from("name", "lang", "version"), `"go"`, `"1.2.3"`, `"\u00e4\n"`, `""`, `"`+strings.Repeat("n", g.IntN(60))+`"`)
	}
	g.credentials(add)
	if g.one(15) {
		g.oddField(add)
	}
	g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	sep := g.from(",", ",", ",", ", ", " ,")
	body := "{" + strings.Join(fields, sep) + "}"
	if g.one(30) {
		body = g.json(body, "{}", "null", "[]", "[1]", "1", `"x"`, "true", "{} {}", "{}x", "")
	}
	if g.one(20) {
		return g.spell("CONNECT") + body + g.lineEnd()
	}
	return g.line("CONNECT", body)
}

// credentials are good ones where some are asked for, mostly.
func (g *generator) credentials(add func(name string, values ...string)) {
	quoted := func(s string) string { return strconv.Quote(s) }
	s := g.setting
	wrong := g.one(12)
	switch {
	case wrong && g.one(2):
		return
	case wrong || !s.auth() && g.one(10):
		add(g.from("auth_token", "pass", "user"), `"x"`, `""`, `"S3cret"`, `"s3cret "`)
	}
	if len(s.Users) > 0 && !(wrong && g.one(2)) {
		if s.auth() || !g.one(3) {
			user := &s.Users[g.IntN(len(s.Users))]
			add("user", quoted(user.Name))
			add("pass", quoted(user.Password))
		}
	}
	if s.Token != "" && !wrong {
		add("auth_token", quoted(s.Token))
	}
	if s.User != "" && !(wrong && g.one(2)) {
		add("user", quoted(s.User))
		add("pass", quoted(s.Password))
	}
}

// oddField is one that is wrong, unknown or not for clients.
func (g *generator) oddField(add func(name string, values ...string)) {
	switch g.IntN(6) {
	case 0:
		add("protocol", "2", "-1", "1.0", "1e0", `"1"`, "null", "99999999999999999999")
	case 1:
		add(g.from("verbose", "pedantic", "echo", "headers", "no_responders", "tls_required"), `"true"`, "1", "0", "null", "{}", "[]")
	case 2:
		add("account", `"A"`, `""`, `"$G"`, "null", "1")
	case 3:
		add("new_account", "true", "false", `"x"`)
	case 4:
		add(g.from("nkey", "jwt", "sig", "proxy_sig", "remote_account", "user", "pass", "auth_token", "name", "lang", "version"), "1", "null", `""`, "{}")
	default:
		add(g.from("import", "export", "unknown", "", "verbose ", "x\\u0000"), "1", "{}", `"y"`, `{"allow":["a"]}`, `{"a":{"b":[1,2,{"c":null}]}}`)
	}
}

// json is one of the texts, sometimes broken.
func (g *generator) json(texts ...string) string {
	text := g.from(texts...)
	if g.one(4) && len(text) > 0 {
		at := g.IntN(len(text))
		return text[:at] + g.from("", "x", "{", "\\", "\xff", "\x00", ",", "}") + text[at+g.IntN(2):]
	}
	return text
}
