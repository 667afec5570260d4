package source

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/ingest"
)

const (
	mqttTimeout   = 10 * time.Second // to dial, and for each packet that needs an answer
	mqttGoodbye   = time.Second      // to disconnect
	mqttKeepAlive = 30               // seconds
	mqttSession   = 24 * 60 * 60     // seconds for which a broker keeps a session
	mqttAcks      = 20 * time.Millisecond
	// unacked bounds the messages of QoS 1 that the broker sends before acknowledgements, and
	// queued all messages that wait here. Those of QoS 0 have the difference.
	unacked = 256
	queued  = 1024
	// maxMessage bounds a packet, in bytes, which the broker is told; it drops larger ones.
	maxMessage = 256 << 10
)

// followMQTT follows one connection to a broker.
func (s *source) followMQTT(ctx context.Context) error {
	conn, err := s.dialMQTT(ctx)
	if err != nil {
		return withoutAddress(err)
	}
	defer conn.Close()
	ended := make(chan error, 2)
	end := func(err error) {
		select {
		case ended <- err:
		default:
		}
	}
	queue := make(chan *paho.Publish, queued)
	client := paho.NewClient(paho.ClientConfig{
		Conn: packets.NewThreadSafeConn(conn), PacketTimeout: mqttTimeout,
		EnableManualAcknowledgment: true, SendAcksInterval: mqttAcks,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			s.enqueue(queue, p.Packet)
			return true, nil
		}},
		OnClientError:      func(err error) { end(withoutAddress(err)) },
		OnServerDisconnect: func(d *paho.Disconnect) { end(fmt.Errorf("the broker has disconnected: reason %#02x", d.ReasonCode)) },
	})
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) }) // ends Connect and Subscribe
	defer stop()
	if err := s.connectMQTT(ctx, client); err != nil {
		return err
	}
	defer func() {
		_ = conn.SetDeadline(time.Now().Add(mqttGoodbye))
		_ = client.Disconnect(&paho.Disconnect{})
		<-client.Done()
	}()
	if err := s.subscribe(ctx, client); err != nil {
		return err
	}
	stop() // from here on the end of ctx is noticed below
	s.up()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case first := <-queue:
			if !s.takeMQTT(ctx, client, first, queue) {
				return errors.New("shutting down")
			}
		}
	}
}

// dialMQTT makes a connection. Errors have no credentials, which the URL does not have either.
func (s *source) dialMQTT(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: mqttTimeout}
	u := s.settings.MQTT.URL
	if u.Scheme != "mqtts" {
		return dialer.DialContext(ctx, "tcp", u.Host)
	}
	roots, err := s.settings.MQTT.roots()
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{NetDialer: dialer, Config: &tls.Config{ServerName: u.Hostname(), RootCAs: roots}}).DialContext(ctx, "tcp", u.Host)
}

// roots reads the certificates that sign the broker's, at each connection, so that they can be
// replaced. Nil: those of the system.
func (m *MQTT) roots() (*x509.CertPool, error) {
	if m.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(m.CA)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ca: %s has no certificate in PEM", m.CA)
	}
	return roots, nil
}

func (s *source) connectMQTT(ctx context.Context, client *paho.Client) error {
	m := s.settings.MQTT
	receive, packet, expiry := uint16(unacked), uint32(maxMessage), uint32(mqttSession)
	c := &paho.Connect{
		ClientID: m.ClientID, KeepAlive: mqttKeepAlive, CleanStart: m.ClientID == "",
		Username: m.User, UsernameFlag: m.User != "", Password: []byte(m.Password), PasswordFlag: m.Password != "",
		Properties: &paho.ConnectProperties{ReceiveMaximum: &receive, MaximumPacketSize: &packet},
	}
	if m.ClientID == "" {
		c.ClientID = "paddock-" + rand.Text()
	} else {
		c.Properties.SessionExpiryInterval = &expiry
	}
	ack, err := client.Connect(ctx, c)
	if ack != nil && ack.ReasonCode >= 0x80 {
		return fmt.Errorf("the broker refuses the connection: reason %#02x%s", ack.ReasonCode, reasons[ack.ReasonCode])
	}
	return withoutAddress(err)
}

// reasons explains codes that the operator can do something about.
var reasons = map[byte]string{
	0x84: ", it does not speak MQTT 5", 0x85: ", the client id is not valid", 0x86: ", wrong user or password", 0x87: ", not authorized", 0x95: ", a packet is too large",
}

func (s *source) subscribe(ctx context.Context, client *paho.Client) error {
	sub := &paho.Subscribe{}
	for _, topic := range s.settings.MQTT.Topics {
		sub.Subscriptions = append(sub.Subscriptions, paho.SubscribeOptions{Topic: topic, QoS: 1})
	}
	ack, err := client.Subscribe(ctx, sub)
	if ack != nil {
		for i, code := range ack.Reasons {
			if code >= 0x80 && i < len(sub.Subscriptions) {
				return fmt.Errorf("the broker refuses the topic %.64q: reason %#02x%s", sub.Subscriptions[i].Topic, code, reasons[code])
			}
		}
	}
	return withoutAddress(err)
}

// withoutAddress returns the cause of a network error, which is short.
func withoutAddress(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return err
}

// enqueue is called by the goroutine that reads the connection, and does not wait: a broker sends
// no more than unacked messages of QoS 1 before they are acknowledged, and there is always room for
// these. Messages of QoS 0 are dropped when there is none.
func (s *source) enqueue(queue chan *paho.Publish, p *paho.Publish) {
	if p.QoS == 0 && len(queue) >= queued-unacked {
		s.dropped.Add(1)
		return
	}
	select {
	case queue <- p:
	default: // more than was agreed: it comes again
		s.dropped.Add(1)
	}
}

// takeMQTT applies a message and the ones behind it, and acknowledges them. It reports false
// if they could not be applied: they come again.
func (s *source) takeMQTT(ctx context.Context, client *paho.Client, first *paho.Publish, queue <-chan *paho.Publish) bool {
	gathered := []*paho.Publish{first}
	for len(gathered) < maxGathered && len(queue) > 0 {
		gathered = append(gathered, <-queue)
	}
	batch := &ingest.Batch{}
	for _, p := range gathered {
		found, err := s.decodeMQTT(p)
		if p.Retain {
			found.IgnoreUntimed()
		}
		s.add(batch, &found, p.Payload, err)
	}
	if !s.submit(ctx, batch) {
		return false
	}
	for _, p := range gathered {
		if p.QoS > 0 {
			_ = client.Ack(p) // of a connection that has ended: it comes again, and is late
		}
	}
	return true
}

func (s *source) decodeMQTT(p *paho.Publish) (format.Result, error) {
	switch m := s.settings.MQTT; m.Format {
	case "owntracks":
		return format.OwnTracks(p.Payload, p.Topic)
	case "hfp":
		return format.HFP(p.Payload, p.Topic)
	default:
		return m.Fields.Decode(p.Payload, p.Topic)
	}
}
