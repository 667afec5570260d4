package clientscheck

import (
	"strings"

	"github.com/nats-io/nats.go"
)

var (
	authority   = nats.RootCAs("ca.pem")
	certificate = nats.ClientCert("client.pem", "client-key.pem")
	unknown     = nats.ClientCert("unknown.pem", "unknown-key.pem")
)

func tlsAuthority() {
	try("with the authority", url, authority)
	try("without", url)
	try("with another", url, nats.RootCAs("other-ca.pem"))
	try("by tls://", strings.Replace(url, "nats://", "tls://", 1), authority)
	echo(authority)
}

// echo says that messages go through this door.
func echo(options ...nats.Option) {
	nc := connect(options...)
	say("tls: %v", nc.TLSRequired())
	if state, err := nc.TLSConnectionState(); err == nil {
		say("handshake complete: %v", state.HandshakeComplete)
	}
	sub := subscribe(nc, "echo")
	publish(nc, "echo", "through this door")
	flush(nc)
	take(sub, 1)
	nc.Close()
}

func tlsVerify() {
	try("with a certificate", url, authority, certificate)
	sayRefused("without", authority)
	echo(authority, certificate)
}

// sayRefused says that a connection is refused, without the words: the alert
// comes in the middle of the client's own writes, and may be lost to them.
func sayRefused(what string, options ...nats.Option) {
	nc, err := nats.Connect(url, options...)
	if err == nil {
		say("%s: connected", what)
		nc.Close()
		return
	}
	say("%s: refused", what)
}

func tlsFirst() {
	try("at once", url, authority, nats.TLSHandshakeFirst())
	nc, err := nats.Connect(url, authority, nats.Timeout(quiet*5))
	if err == nil {
		nc.Close()
	}
	say("after INFO: %v", err)
	echo(authority, nats.TLSHandshakeFirst())
}

func tlsMixed() {
	echo()
	echo(authority)
	echo(authority, nats.Secure())
}

func tlsMap() {
	try("a user", url, authority, certificate)
	try("nobody", url, authority, unknown)
	sayRefused("without", authority)
	events := newEvents()
	nc := connect(events.options(authority, certificate)...)
	sub := subscribe(nc, "fleet.>")
	publish(nc, "fleet.a", "permitted")
	publish(nc, "other", "not permitted")
	flush(nc)
	take(sub, 1)
	events.until("error")
	nc.Close()
}

func websocket() {
	nc := connect()
	sub := subscribe(nc, "web.>")
	for _, n := range []int{0, 1, 125, 126, 65_535, 65_536, 300_000} {
		publish(nc, "web.size", strings.Repeat("w", n))
	}
	flush(nc)
	for range 7 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			fatal("web", err)
		}
		say("%s: %d bytes, all: %v", m.Subject, len(m.Data), strings.Count(string(m.Data), "w") == len(m.Data))
	}
	plain, err := nats.Connect(plainURL)
	if err != nil {
		fatal("plain", err)
	}
	publish(plain, "web.plain", "from the other door")
	flush(plain)
	take(sub, 1)
	if _, err := plain.Subscribe("answer", func(m *nats.Msg) { _ = m.Respond([]byte("yes")) }); err != nil {
		fatal("answer", err)
	}
	flush(plain)
	m, err := nc.Request("answer", nil, patience)
	if err != nil {
		fatal("answer", err)
	}
	say("answer: %q", m.Data)
	_, err = nc.Request("nobody", nil, patience)
	say("nobody: %v", err)
	plain.Close()
	nc.Close()
	compressed := connect(nats.Compression(true))
	large := subscribe(compressed, "large")
	publish(compressed, "large", strings.Repeat("compress me ", 20))
	flush(compressed)
	take(large, 1)
	compressed.Close()
}

func websocketTLS() {
	alice, bob := nats.UserInfo("alice", "alice"), nats.UserInfo("bob", "bob")
	try("alice by the web", url, authority, alice)
	sayRefused("bob by the web", authority, bob)
	try("alice plain", plainURL, alice)
	try("bob plain", plainURL, bob)
	try("without the authority", url, alice)
	echo(authority, alice)
}
