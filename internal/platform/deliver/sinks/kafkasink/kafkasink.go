// Package kafkasink produces events into a topic of Kafka. An event counts as taken once all
// replicas in sync have acknowledged it. The key is the object's id, so that the events of an
// object are in one partition, in order.
package kafkasink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"paddock/internal/platform/deliver"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

// timeout bounds a batch: from the connection to the last acknowledgement.
const timeout = 10 * time.Second

// Config is the section kafka of a sink.
type Config struct {
	Brokers   []string // host:port, to begin with
	Topic     string
	TLS       bool
	RootCA    string // PEM file; "": the system's
	User      string
	Password  config.Secret
	Mechanism string // of SASL, with User
}

var mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

// Read reads the section. Faults are those of the file.
func Read(n *strictyaml.Node) *Config {
	c := &Config{Mechanism: "plain"}
	text := func(s string) (string, error) { return s, nil }
	strictyaml.Fields{
		"brokers": strictyaml.ListInto(&c.Brokers, checkBroker), "topic": strictyaml.Into(&c.Topic, strictyaml.NonEmpty),
		"tls": strictyaml.Into(&c.TLS, strictyaml.Either("false", "true")), "root_ca": strictyaml.Into(&c.RootCA, text),
		"user": strictyaml.Into(&c.User, text), "password": strictyaml.Into(&c.Password, func(s string) (config.Secret, error) { return config.Secret(s), nil }),
		"mechanism": strictyaml.Into(&c.Mechanism, checkMechanism),
	}.Read(n, "kafka")
	if len(c.Brokers) == 0 || c.Topic == "" {
		n.Fault("kafka: brokers or topic is missing")
	}
	if c.User != "" && !c.TLS {
		n.Fault("kafka: a password needs tls: true")
	}
	return c
}

func checkBroker(text string) (string, error) {
	if _, _, err := net.SplitHostPort(text); err != nil {
		return "", fmt.Errorf("%q: want host:port", text)
	}
	return text, nil
}

func checkMechanism(text string) (string, error) {
	if !slices.Contains(mechanisms, text) {
		return "", fmt.Errorf("%q is none of %s", text, strings.Join(mechanisms, ", "))
	}
	return text, nil
}

// Locate makes relative paths those below the directory of the configuration file.
func (c *Config) Locate(dir string) { deliver.Below(dir, &c.RootCA) }

func (c *Config) String() string { return strings.Join(c.Brokers, ",") + " " + c.Topic }

// End is a topic as the end of a follower.
type End struct {
	c       Config
	tile38  bool
	timeout time.Duration
	client  *kgo.Client // nil: the next batch makes one
	most    int         // records at once, as the topic has taken no more lately; 0: all
}

// New returns the end for a topic, with events as notifications of Tile38 if tile38 is set.
func New(c *Config, tile38 bool) *End { return &End{c: *c, tile38: tile38, timeout: timeout} }

// Close implements [deliver.End].
func (e *End) Close() {
	if e.client != nil {
		e.client.Close()
		e.client = nil
	}
}

// open makes a client, unless there is one. It connects when it is used.
func (e *End) open() (err error) {
	if e.client != nil {
		return nil
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(e.c.Brokers...), kgo.ClientID("paddock"), kgo.DefaultProduceTopic(e.c.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DialTimeout(e.timeout / 2), kgo.ManualFlushing(),
	}
	if e.c.TLS {
		settings := &tls.Config{MinVersion: tls.VersionTLS12}
		if settings.RootCAs, err = deliver.Roots(e.c.RootCA); err != nil {
			return err
		}
		options = append(options, kgo.DialTLSConfig(settings))
	}
	if e.c.User != "" {
		options = append(options, kgo.SASL(e.sasl()))
	}
	e.client, err = kgo.NewClient(options...)
	return err
}

func (e *End) sasl() sasl.Mechanism {
	user, password := e.c.User, string(e.c.Password)
	switch e.c.Mechanism {
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}

// Send implements [deliver.End].
func (e *End) Send(ctx context.Context, b *deliver.Batch) deliver.Result {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if err := e.open(); err != nil {
		return deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
	}
	client := e.client
	// The client does not give up a record that may have been sent. Closing it does.
	stop := context.AfterFunc(ctx, client.Close)
	defer stop()
	records := make([]*kgo.Record, len(b.Items))
	for i := range b.Items {
		records[i] = e.record(&b.Items[i])
	}
	for at := 0; at < len(records); {
		part := e.part(records[at:])
		taken, err := produce(ctx, client, part)
		at += taken
		switch {
		case err == nil:
			continue
		case len(part) > 1 && errors.Is(err, kerr.MessageTooLarge): // perhaps only together
			e.most = len(part) / 2
			continue
		case len(part) == 1: // which says nothing of several
			e.most = 0
		}
		result := judge(err)
		result.Taken = at
		if result.Verdict == deliver.Failed {
			e.Close()
		}
		return result
	}
	if e.most > 0 {
		e.most++
	}
	return deliver.Result{}
}

// maxPart bounds the bytes of the values that are produced at once. So the client never divides the
// records of one partition, of which the topic could take the later ones alone.
const maxPart = 512 << 10

// part returns the first records that are produced at once.
func (e *End) part(records []*kgo.Record) []*kgo.Record {
	n, bytes := 1, len(records[0].Value)
	for n < len(records) && n != e.most && bytes+len(records[n].Value) <= maxPart {
		bytes += len(records[n].Value)
		n++
	}
	return records[:n]
}

// produce produces records, and returns how many were taken before the first one that was not.
func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) (taken int, err error) {
	failed := make([]error, len(records))
	var waiting sync.WaitGroup
	waiting.Add(len(records))
	for i, r := range records {
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			failed[i] = err
			waiting.Done()
		})
	}
	_ = client.Flush(ctx) // each record has its own error
	waiting.Wait()
	for i, err := range failed {
		if err != nil {
			return i, err
		}
	}
	return len(records), nil
}

// judge draws the verdict of an error about one record.
func judge(err error) deliver.Result {
	r := deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kgo.ErrClientClosed) {
		r.Reason = "no acknowledgement in time"
	}
	for _, refusal := range []error{kerr.MessageTooLarge, kerr.InvalidRecord, kerr.RecordListTooLarge} {
		if errors.Is(err, refusal) {
			r.Verdict, r.First = deliver.Refused, true
		}
	}
	return r
}

// record returns an item as a record.
func (e *End) record(it *deliver.Item) *kgo.Record {
	r := &kgo.Record{Key: key(it), Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte(it.MessageID())}}}
	media := "application/cloudevents+json; charset=UTF-8"
	if e.tile38 {
		media = "application/json"
		r.Value = it.AppendTile38(nil)
	} else {
		r.Value = it.AppendCloudEvent(nil)
	}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: "content-type", Value: []byte(media)})
	for name, value := range it.TraceHeaders() {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r
}

// key returns the object of an event, or the fence of one that is about several. A gap has none.
func key(it *deliver.Item) []byte {
	switch {
	case it.Object != "":
		return []byte(it.Object)
	case it.Fence != "":
		return []byte(it.Fence)
	}
	return nil
}
