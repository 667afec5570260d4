package clientscheck

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// patience is how long something may take that is expected, quiet how long
// nothing must come where nothing is expected.
const (
	patience = 10 * time.Second
	quiet    = 100 * time.Millisecond
)

var scenarios = map[string]func(){
	"pubsub": pubsub, "queue": queue, "request": request, "headers": headers,
	"autounsub": autounsub, "service": service, "info": info,
	"drain": drain, "reconnect": reconnect, "lameduck": lameduck, "stale": staleConnection,
	"slow-server": slowServer, "slow-client": slowClient, "reload": reload,
	"payload": payload, "max-connections": maxConnections, "max-subscriptions": maxSubscriptions,
	"token": token, "password": password, "bcrypt": bcrypt, "nkey": nkey,
	"anonymous": anonymous, "permissions": permissions, "responses": responses,
	"tls": tlsAuthority, "tls-verify": tlsVerify, "tls-first": tlsFirst, "tls-mixed": tlsMixed, "tls-map": tlsMap,
	"websocket": websocket, "websocket-tls": websocketTLS,
}

// goClient is the first argument that makes the test binary the program in nats.go: it plays one
// scenario against the server of NATS_URL and prints the events that its user would notice.
const goClient = "go-client"

func playGoClient(scenario string) int {
	play, ok := scenarios[scenario]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such scenario")
		return 2
	}
	play()
	return 0
}

var (
	url      = os.Getenv("NATS_URL")
	plainURL = os.Getenv("PLAIN_URL")

	speaking sync.Mutex
	runner   = bufio.NewReader(os.Stdin)
)

// say prints one line.
func say(format string, args ...any) {
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Printf(format+"\n", args...)
}

// ask has the runner do something, and waits until it is done.
func ask(what string) {
	say("@%s", what)
	if line, err := runner.ReadString('\n'); err != nil || line != "done\n" {
		fatal("the runner", err)
	}
}

func fatal(what string, err error) {
	say("%s: %v", what, err)
	os.Exit(1)
}

// connect connects or gives up.
func connect(options ...nats.Option) *nats.Conn {
	nc, err := nats.Connect(url, options...)
	if err != nil {
		fatal("connect", err)
	}
	return nc
}

// try says whether a connection comes about, and closes it.
func try(what, url string, options ...nats.Option) {
	nc, err := nats.Connect(url, options...)
	if err != nil {
		say("%s: %v", what, err)
		return
	}
	say("%s: connected", what)
	nc.Close()
}

func subscribe(nc *nats.Conn, subject string) *nats.Subscription {
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		fatal(subject, err)
	}
	return sub
}

func publish(nc *nats.Conn, subject, text string) {
	if err := nc.Publish(subject, []byte(text)); err != nil {
		say("publish %s: %v", subject, err)
	}
}

func flush(nc *nats.Conn) {
	if err := nc.FlushTimeout(patience); err != nil {
		say("flush: %v", err)
	}
}

// take says which n messages come, and whether more do.
func take(sub *nats.Subscription, n int) {
	for range n {
		m, err := sub.NextMsg(patience)
		if err != nil {
			say("%s: %v", sub.Subject, err)
			return
		}
		say("%s: %s %q", sub.Subject, m.Subject, m.Data)
	}
	if m, err := sub.NextMsg(quiet); err == nil {
		say("%s: one too many, %s %q", sub.Subject, m.Subject, m.Data)
	}
}

// events collects the client's reports of a connection.
type events chan string

func newEvents() events { return make(events, 100) }

// options has the connection's events go to e.
func (e events) options(more ...nats.Option) []nats.Option {
	return append([]nats.Option{
		nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { e <- fmt.Sprintf("disconnected: %v", err) }),
		nats.ReconnectHandler(func(*nats.Conn) { e <- "reconnected" }),
		nats.ClosedHandler(func(*nats.Conn) { e <- "closed" }),
		nats.LameDuckModeHandler(func(*nats.Conn) { e <- "lame duck" }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			if sub != nil {
				e <- fmt.Sprintf("error on %s: %v", sub.Subject, err)
				return
			}
			e <- fmt.Sprintf("error: %v", err)
		}),
	}, more...)
}

// until prints the events up to the one with this prefix.
func (e events) until(prefix string) {
	limit := time.After(patience)
	for {
		select {
		case event := <-e:
			say("%s", event)
			if strings.HasPrefix(event, prefix) {
				return
			}
		case <-limit:
			say("no event %q", prefix)
			return
		}
	}
}

// none prints an event that should not happen.
func (e events) none() {
	select {
	case event := <-e:
		say("unexpected: %s", event)
	case <-time.After(quiet):
	}
}
