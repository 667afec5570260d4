// Package mqttsink publishes events to a broker of MQTT 5, with QoS 1: an event counts as taken
// once the broker has acknowledged it. Events are published one after the other, so that they stay
// in order whatever the broker does.
package mqttsink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"paddock/internal/platform/deliver"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

const (
	// timeout bounds the connection, and each message up to its acknowledgement.
	timeout = 10 * time.Second
	// closeTime bounds the good-bye to a broker that may take nothing any more.
	closeTime = 500 * time.Millisecond
	// keepAlive is the time in seconds after which a quiet connection is checked.
	keepAlive = 30
	// overhead is more than a packet has beside its topic and its payload, in bytes: the fixed
	// header, the packet's number and the properties.
	overhead = 1024
)

// Config is the section mqtt of a sink.
type Config struct {
	URL      string // mqtt://host:port, or mqtts
	Prefix   string // of topics, as site/ ; "": they begin with fence
	ClientID string
	User     string
	Password config.Secret
	RootCA   string // PEM file; "": the system's
}

// Read reads the section. Faults are those of the file.
func Read(n *strictyaml.Node) *Config {
	c := &Config{ClientID: "paddock"}
	plain := func(s string) (string, error) { return s, nil }
	strictyaml.Fields{
		"url": strictyaml.Into(&c.URL, checkURL), "prefix": strictyaml.Into(&c.Prefix, checkPrefix), "client_id": strictyaml.Into(&c.ClientID, strictyaml.NonEmpty),
		"user": strictyaml.Into(&c.User, plain), "password": strictyaml.Into(&c.Password, func(s string) (config.Secret, error) { return config.Secret(s), nil }),
		"root_ca": strictyaml.Into(&c.RootCA, plain),
	}.Read(n, "mqtt")
	if c.URL == "" {
		n.Fault("mqtt: url is missing")
	}
	return c
}

func checkURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.Path != "" && u.Path != "/":
		return "", errors.New("want mqtt://host:port or mqtts://host:port")
	case u.User != nil:
		return "", errors.New("a name or password in it would be shown: use user and password")
	}
	return text, nil
}

func checkPrefix(text string) (string, error) {
	if strings.ContainsAny(text, "+#\x00") {
		return "", fmt.Errorf("%q: the topic of a message has no + and no #", text)
	}
	return text, nil
}

// Locate makes relative paths those below the directory of the configuration file.
func (c *Config) Locate(dir string) { deliver.Below(dir, &c.RootCA) }

func (c *Config) String() string { return c.URL + " " + c.Prefix + "fence/#" }

// End is a broker as the end of a follower.
type End struct {
	c       Config
	tile38  bool
	timeout time.Duration
	client  *paho.Client    // nil: the next batch connects
	conn    net.Conn        // of client, whose writes know no time of their own
	alive   context.Context // ends with the connection of client, of which publishing is not told
	largest int             // packet that the broker takes, in bytes

	mu   sync.Mutex
	left byte // the reason code with which the broker has disconnected; 0: none
}

// New returns the end for a broker, with events as notifications of Tile38 if tile38 is set.
func New(c *Config, tile38 bool) *End { return &End{c: *c, tile38: tile38, timeout: timeout} }

// Close implements [deliver.End].
func (e *End) Close() {
	if e.client != nil {
		_ = e.conn.SetWriteDeadline(time.Now().Add(closeTime))
		_ = e.client.Disconnect(&paho.Disconnect{}) // the connection may have ended
		<-e.client.Done()
		e.client = nil
	}
}

// connect connects, unless there is a connection.
func (e *End) connect(ctx context.Context) error {
	if e.client != nil {
		select {
		case <-e.client.Done():
			e.Close()
		default:
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	conn, err := e.dial(ctx)
	if err != nil {
		return err
	}
	e.note(0)
	client := paho.NewClient(paho.ClientConfig{
		ClientID: e.c.ClientID, Conn: conn, PacketTimeout: e.timeout,
		OnServerDisconnect: func(d *paho.Disconnect) { e.note(d.ReasonCode) },
	})
	hello := &paho.Connect{ClientID: e.c.ClientID, CleanStart: true, KeepAlive: keepAlive}
	if e.c.User != "" {
		hello.UsernameFlag, hello.Username = true, e.c.User
		hello.PasswordFlag, hello.Password = true, []byte(e.c.Password)
	}
	ack, err := client.Connect(ctx, hello)
	if err != nil {
		_ = conn.Close()
		return err
	}
	alive, ended := context.WithCancel(context.Background())
	go func() {
		<-client.Done() // at the latest when Close has disconnected
		ended()
	}()
	e.client, e.conn, e.alive, e.largest = client, conn, alive, 0
	if p := ack.Properties; p != nil && p.MaximumPacketSize != nil {
		e.largest = int(*p.MaximumPacketSize)
	}
	return nil
}

func (e *End) dial(ctx context.Context) (net.Conn, error) {
	u, err := url.Parse(e.c.URL)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"mqtt": "1883", "mqtts": "8883"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "mqtt" {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	roots, err := deliver.Roots(e.c.RootCA)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	conn, err := (&tls.Dialer{Config: settings}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return packets.NewThreadSafeConn(conn), nil
}

func (e *End) note(reason byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = reason
}

// Send implements [deliver.End].
func (e *End) Send(ctx context.Context, b *deliver.Batch) deliver.Result {
	if err := e.connect(ctx); err != nil {
		e.Close()
		return deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.alive, cancel)()
	for i := range b.Items {
		if r := e.publish(ctx, &b.Items[i]); r.Verdict != deliver.Delivered {
			r.Taken = i
			return r
		}
	}
	return deliver.Result{}
}

// publish publishes an item, and waits for its acknowledgement, up to e.timeout.
func (e *End) publish(ctx context.Context, it *deliver.Item) deliver.Result {
	m := e.message(it)
	if size := len(m.Topic) + len(m.Payload) + overhead; e.largest > 0 && size > e.largest {
		return deliver.Result{Verdict: deliver.Refused, First: true, Reason: fmt.Sprintf("a packet of some %d bytes, the broker takes %d", size, e.largest)}
	}
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	conn := e.conn
	defer context.AfterFunc(bounded, func() { _ = conn.SetWriteDeadline(time.Now()) })()
	answer, err := e.client.Publish(ctx, m) // which waits for an answer for PacketTimeout
	if err == nil {
		return deliver.Result{}
	}
	r := deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
	if answer != nil {
		r.Status = int(answer.ReasonCode)
		r.First = refuses(answer.ReasonCode)
	} else {
		e.Close() // which waits until the reason of a disconnection is noted
		e.mu.Lock()
		if errors.Is(err, context.Canceled) {
			r.Reason = "the connection has ended"
		}
		if e.left != 0 {
			r.Status, r.First = int(e.left), refuses(e.left)
			r.Reason = fmt.Sprintf("the broker has ended the connection with the reason code 0x%02x", e.left)
		}
		e.mu.Unlock()
	}
	if r.First {
		r.Verdict = deliver.Refused
	}
	return r
}

// refuses reports whether a reason code is about the message itself (MQTT 5, section 2.4).
func refuses(reason byte) bool {
	switch reason {
	case packets.PubackTopicNameInvalid, packets.PubackPayloadFormatInvalid, packets.DisconnectPacketTooLarge:
		return true
	}
	return false
}

// message returns an item as a message.
func (e *End) message(it *deliver.Item) *paho.Publish {
	m := &paho.Publish{QoS: 1, Topic: e.c.Prefix + topic(it), Properties: &paho.PublishProperties{}}
	m.Properties.User.Add("event_id", it.MessageID())
	for name, value := range it.TraceHeaders() {
		m.Properties.User.Add(name, value)
	}
	if e.tile38 {
		m.Properties.ContentType = "application/json"
		m.Payload = it.AppendTile38(nil)
	} else {
		m.Properties.ContentType = "application/cloudevents+json"
		m.Payload = it.AppendCloudEvent(nil)
	}
	return m
}

// topic returns the topic of an item: its subject on the platform's bus, with slashes. There is
// none for a gap, so it gets one that no set has.
func topic(it *deliver.Item) string {
	if it.Gap != nil {
		return "fence/_gap"
	}
	return strings.ReplaceAll(it.Subject, ".", "/")
}
