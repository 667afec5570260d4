// Package natssink publishes events to a server of the NATS protocol, or into a stream of its
// JetStream.
//
// To a server the events of a batch count as taken once it has answered a PING behind them. Into a
// stream they count once it has acknowledged each of them; the header Nats-Msg-Id is the id of the
// event, by which the stream drops repeats within its window of duplicates.
package natssink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"paddock/internal/netio/natslogin"
	"paddock/internal/platform/deliver"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

// timeout bounds a batch on the bus, from the connection to its last event, and each event of a
// stream.
const timeout = 10 * time.Second

// Config is the section nats of a sink.
type Config struct {
	URL       string // of a server, or several with commas
	Prefix    string // of subjects, as events. ; "": they are those of the platform's bus
	JetStream bool
	User      string
	Password  config.Secret
	Token     config.Secret
	Creds     string // file of credentials; "": none
	RootCA    string // PEM file; "": the system's
}

// Read reads the section. Faults are those of the file.
func Read(n *strictyaml.Node) *Config {
	c := &Config{}
	secret := func(s string) (config.Secret, error) { return config.Secret(s), nil }
	plain := func(s string) (string, error) { return s, nil }
	strictyaml.Fields{
		"url": strictyaml.Into(&c.URL, checkURL), "prefix": strictyaml.Into(&c.Prefix, checkPrefix),
		"jetstream": strictyaml.Into(&c.JetStream, strictyaml.Either("false", "true")),
		"user":      strictyaml.Into(&c.User, plain), "password": strictyaml.Into(&c.Password, secret), "token": strictyaml.Into(&c.Token, secret),
		"creds": strictyaml.Into(&c.Creds, plain), "root_ca": strictyaml.Into(&c.RootCA, plain),
	}.Read(n, "nats")
	if c.URL == "" {
		n.Fault("nats: url is missing")
	}
	return c
}

func checkURL(text string) (string, error) {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls":
			return "", errors.New("want nats://host:port or tls://host:port, several with commas")
		case u.User != nil:
			return "", errors.New("a name or password in it would be shown: use user and password, or token")
		}
	}
	return text, nil
}

// checkPrefix checks the beginning of subjects: tokens, each with a dot behind it.
func checkPrefix(text string) (string, error) {
	tokens := strings.Split(text, ".")
	for i, token := range tokens {
		last := i == len(tokens)-1
		if (token == "") != last || strings.ContainsAny(token, " \t\r\n*>") {
			return "", fmt.Errorf("%q: want tokens as events. with a dot behind each", text)
		}
	}
	return text, nil
}

// Locate makes relative paths those below the directory of the configuration file.
func (c *Config) Locate(dir string) { deliver.Below(dir, &c.Creds, &c.RootCA) }

func (c *Config) String() string {
	if c.JetStream {
		return c.URL + " (JetStream) " + c.Prefix + "fence.>"
	}
	return c.URL + " " + c.Prefix + "fence.>"
}

// End is a server as the end of a follower.
type End struct {
	c       Config
	tile38  bool
	timeout time.Duration
	conn    *nats.Conn // nil: the next batch connects
	socket  net.Conn   // of conn, which waits long for a server that does not read
	stream  jetstream.JetStream
}

// New returns the end for a server, with events as notifications of Tile38 if tile38 is set.
func New(c *Config, tile38 bool) *End { return &End{c: *c, tile38: tile38, timeout: timeout} }

// Close implements [deliver.End].
func (e *End) Close() {
	if e.conn != nil {
		e.conn.Close()
		e.conn = nil
	}
}

// connect connects, unless there is a connection.
func (e *End) connect(ctx context.Context) (err error) {
	if e.conn != nil && e.conn.IsConnected() {
		return nil
	}
	e.Close()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	d := &dialer{ctx: ctx, timeout: e.timeout / 2, keep: func() bool { return true }}
	defer func() { d.keep() }()
	options := []nats.Option{
		nats.Name("paddock"), nats.NoReconnect(), nats.Timeout(d.timeout), nats.SetCustomDialer(d), nats.SkipHostLookup(),
		nats.PingInterval(20 * time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	login := natslogin.Login{User: e.c.User, Password: string(e.c.Password), Token: string(e.c.Token), Creds: e.c.Creds, RootCA: e.c.RootCA}
	options = append(options, login.Options()...)
	if e.conn, err = nats.Connect(e.c.URL, options...); err != nil {
		return err
	}
	e.socket = d.last
	e.stream, err = jetstream.New(e.conn)
	return err
}

// dialer makes connections that its context ends until they are kept: the client library gives each
// server its time, and knows none for all of them.
type dialer struct {
	ctx     context.Context
	timeout time.Duration
	last    net.Conn
	keep    func() bool // the last one, whatever becomes of ctx
}

// Dial implements [nats.CustomDialer].
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.keep() // the one before has ended
	c, err := (&net.Dialer{Timeout: d.timeout}).DialContext(d.ctx, network, address)
	if err == nil {
		d.last, d.keep = c, cutWith(d.ctx, c)
	}
	return c, err
}

// cutWith closes a connection when ctx ends, unless stop is called before.
func cutWith(ctx context.Context, c net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.Close() })
}

// Send implements [deliver.End].
func (e *End) Send(ctx context.Context, b *deliver.Batch) deliver.Result {
	if err := e.connect(ctx); err != nil {
		e.Close()
		return failed(err)
	}
	if e.c.JetStream {
		return e.intoStream(ctx, b)
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	defer cutWith(ctx, e.socket)()
	for i := range b.Items {
		if err := e.conn.PublishMsg(e.message(&b.Items[i])); err != nil {
			return e.stopped(ctx, i, err)
		}
	}
	if err := e.flush(ctx); err != nil {
		e.Close()
		return failed(err)
	}
	return deliver.Result{}
}

// flush waits until the server has everything that was published. The error tells that the server
// has denied some of it, which it reports beside its answer.
func (e *End) flush(ctx context.Context) error {
	if err := e.conn.FlushWithContext(ctx); err != nil {
		return err
	}
	if err := e.conn.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

// stopped is the result of a batch whose item i was not published. The items before it are.
func (e *End) stopped(ctx context.Context, i int, err error) deliver.Result {
	r := judge(err)
	if flushErr := e.flush(ctx); flushErr != nil {
		e.Close()
		return failed(flushErr)
	}
	r.Taken = i
	return r
}

// intoStream publishes a batch into a stream, one item after the other: an item that is published
// beside an earlier one could be stored before it.
func (e *End) intoStream(ctx context.Context, b *deliver.Batch) deliver.Result {
	for i := range b.Items {
		bounded, cancel := context.WithTimeout(ctx, e.timeout)
		stop := cutWith(bounded, e.socket)
		_, err := e.stream.PublishMsg(bounded, e.message(&b.Items[i]), jetstream.WithRetryAttempts(0))
		stop()
		cancel()
		if err != nil {
			r := judge(err)
			r.Taken = i
			if r.Verdict == deliver.Failed {
				e.Close()
			}
			return r
		}
	}
	return deliver.Result{}
}

// message returns an item as a message.
func (e *End) message(it *deliver.Item) *nats.Msg {
	m := nats.NewMsg(e.c.Prefix + subject(it))
	m.Header.Set(jetstream.MsgIDHeader, it.MessageID())
	for name, value := range it.TraceHeaders() {
		m.Header.Set(name, value)
	}
	if e.tile38 {
		m.Data = it.AppendTile38(nil)
	} else {
		m.Data = it.AppendCloudEvent(nil)
		m.Header.Set("Content-Type", "application/cloudevents+json")
	}
	return m
}

// subject returns the subject of an item on the platform's bus. There is none for a gap, so it gets
// one that no set has.
func subject(it *deliver.Item) string {
	if it.Gap != nil {
		return "fence._gap"
	}
	return it.Subject
}

func failed(err error) deliver.Result {
	return deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
}

// tooLong are the codes of API errors about the message itself: it, or its header, is too long for
// the stream. Others, also with the status 400, are about the stream or its account.
var tooLong = []jetstream.ErrorCode{jetstream.JSErrCodeStreamMessageExceedsMaximum, 10097}

// judge draws the verdict of an error about one message.
func judge(err error) deliver.Result {
	r := failed(err)
	r.First = errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrBadSubject)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		r.Status, r.First = api.Code, slices.Contains(tooLong, api.ErrorCode)
	}
	if r.First {
		r.Verdict = deliver.Refused
	}
	return r
}
