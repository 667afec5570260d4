package clientscheck

import (
	"cmp"
	"slices"
	"time"
)

// limit is how long one program may run.
const limit = 40 * time.Second

// Scenario is one program of each client. The server's configuration is the file
// of its name in the folder configs; without one, the server has its defaults.
type Scenario struct {
	Name  string
	About string
	// Without names the clients that have no such program, each with its reason.
	Without map[string]string
	// Config is the name of the configuration where it is another's; "" = Name.
	Config string
	// Door is the scheme of the URL that the program is given; "" = nats.
	Door string
}

// Scenarios lists them in the order of the table.
func Scenarios() []Scenario {
	return slices.Concat(messages(), lifecycle(), limits(), credentials(), doors())
}

func messages() []Scenario {
	return []Scenario{
		{Name: "pubsub", About: "literal and wildcard subscriptions, no echo"},
		{Name: "queue", About: "two queue groups beside a plain subscriber, by count"},
		{Name: "request", About: "reply, timeout, no responders, two responders"},
		{Name: "headers", About: "values, order, empty payload, status"},
		{Name: "autounsub", About: "a subscription that ends by count, before and after messages"},
		{Name: "service", About: "micro service: answers, errors, PING, INFO, STATS"},
		{Name: "info", About: "the server's INFO, flush, round trip"},
	}
}

func lifecycle() []Scenario {
	return []Scenario{
		{Name: "drain", About: "of a subscription and of a connection"},
		{Name: "reconnect", About: "the server ends and comes again"},
		{Name: "lameduck", About: "the server is told to send its clients away"},
		{Name: "stale", About: "a client that answers no PING"},
		{Name: "slow-server", About: "a client that does not read is closed, and comes again"},
		{Name: "slow-client", About: "a subscriber slower than its client"},
		{Name: "reload", About: "a permission and a user go while they are connected"},
	}
}

func limits() []Scenario {
	return []Scenario{
		{Name: "payload", About: "the largest message and one byte more"},
		{Name: "max-connections", About: "one client more than the server takes"},
		{Name: "max-subscriptions", About: "one subscription more than the server takes"},
	}
}

func credentials() []Scenario {
	return []Scenario{
		{Name: "token", About: "right, wrong, none"},
		{Name: "password", About: "right, wrong, none"},
		{Name: "bcrypt", About: "right, wrong"},
		{Name: "nkey", About: "right, wrong, none"},
		{Name: "anonymous", About: "no_auth_user, and a user beside it"},
		{Name: "permissions", About: "publish, subscribe, queue, and the default ones"},
		{Name: "responses", About: "allow_responses, with and without a count"},
	}
}

func doors() []Scenario {
	return []Scenario{
		{Name: "tls", About: "with the authority, without, and of another"},
		{Name: "tls-verify", About: "the client's certificate, and none"},
		{Name: "tls-first", About: "the handshake before INFO"},
		{Name: "tls-mixed", About: "with TLS and without on one port"},
		{Name: "tls-map", About: "the user is in the client's certificate"},
		{Name: "websocket", About: "messages of every size class over ws://", Door: "ws"},
		{Name: "websocket-tls", About: "wss://, and users bound to a door", Door: "wss"},
		{Name: "browser", About: "nats.js in Chromium over ws://", Config: "websocket", Door: "ws", Without: map[string]string{
			"go": "no browser", "python": "no browser", "rust": "no browser",
		}},
	}
}

func (s Scenario) config() string { return cmp.Or(s.Config, s.Name) + ".conf" }
