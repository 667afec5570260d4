package kafkasink

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
	"paddock/internal/process/strictyaml"
)

// kfakeDir is the variable that makes this program a kfake with its data in a directory, and
// kfakePort its port. It stands for Kafka here: a broker in Go of the author of the client.
const (
	kfakeDir  = "PADDOCK_TEST_KFAKE_DIR"
	kfakePort = "PADDOCK_TEST_KFAKE_PORT"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(kfakeDir); dir != "" {
		port, err := strconv.Atoi(os.Getenv(kfakePort))
		if err != nil {
			panic(err)
		}
		kfake.MustCluster(append(topics(), kfake.Ports(port), kfake.DataDir(dir), kfake.SyncWrites())...)
		select {} // until it is killed
	}
	goleak.VerifyTestMain(m)
}

func topics() []kfake.Opt {
	return []kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, "events")}
}

// cluster starts a kfake within the test.
func cluster(t *testing.T, more ...kfake.Opt) []string {
	t.Helper()
	c, err := kfake.NewCluster(append(topics(), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

func itemOf(n int, body string) events.Record {
	return events.Record{
		Object: fmt.Sprint("v", n%10), Set: "depots", Fence: "north",
		JSON: events.Plain(fmt.Appendf(nil, `{"id":"%d","source":"/sets/depots"%s}`, n, body)),
	}
}

// consume reads records until there are n different ids.
func consume(t *testing.T, brokers []string, n int) (all []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("events"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	met := map[string]bool{}
	for len(met) < n {
		fetched := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d records, %d different ones: %v", len(all), len(met), err)
		}
		for _, r := range fetched.Records() {
			all = append(all, r)
			met[idOf(r)] = true
		}
	}
	return all
}

func idOf(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == "ce_id" {
			return string(h.Value)
		}
	}
	return ""
}

// Records have their keys, their ids and their content types. One that is too long is refused
// alone.
func TestProduces(t *testing.T) {
	brokers := cluster(t)
	e := New(&Config{Brokers: brokers, Topic: "events"}, false)
	defer e.Close()
	batch := &deliver.Batch{Items: []deliver.Item{
		{Record: itemOf(1, `,"traceparent":"00-a","tracestate":"a=1","datacontenttype":"application/json"`)}, {Record: itemOf(2, `,"x":"`+strings.Repeat("x", 2<<20)+`"`)}, {Record: itemOf(3, "")}, {Record: events.Record{Cursor: 9}, Gap: &events.Gap{From: 7, To: 9}},
	}}
	if got := e.Send(t.Context(), batch); got.Verdict != deliver.Refused || got.Taken != 1 || !got.First {
		t.Fatalf("%+v", got)
	}
	if got := e.Send(t.Context(), &deliver.Batch{Items: batch.Items[2:]}); got.Verdict != deliver.Delivered {
		t.Fatalf("%+v", got)
	}
	want := map[string]string{"1": "v1", "3": "v3", "gap/9": ""}
	for _, r := range consume(t, brokers, 3) {
		if key, ok := want[idOf(r)]; !ok || string(r.Key) != key || string(r.Headers[1].Value) != "application/cloudevents+json; charset=UTF-8" {
			t.Errorf("%s: %s, %q", r.Key, r.Value, r.Headers)
		}
		trace := "[]"
		if idOf(r) == "1" {
			trace = "[traceparent=00-a tracestate=a=1]"
		}
		var more []string
		for _, h := range r.Headers[2:] {
			more = append(more, h.Key+"="+string(h.Value))
		}
		if fmt.Sprint(more) != trace {
			t.Errorf("%s: %q, want %s", r.Key, more, trace)
		}
	}
}

// Events that are only together longer than the topic takes are delivered in smaller parts, and in
// order. One that is too long alone is refused alone.
func TestTopicTakesLittle(t *testing.T) {
	brokers := cluster(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "8192"}))
	e := New(&Config{Brokers: brokers, Topic: "events"}, false)
	defer e.Close()
	noise := func(n int) string {
		b := make([]byte, n)
		_, _ = rand.Read(b)
		return fmt.Sprintf(`,"x":"%x"`, b)
	}
	var batch deliver.Batch
	for n := range 100 {
		batch.Items = append(batch.Items, deliver.Item{Record: itemOf(n, noise(500))})
	}
	if got := e.Send(t.Context(), &batch); got.Verdict != deliver.Delivered {
		t.Fatalf("%+v", got)
	}
	last := map[string]int{} // by key
	for _, r := range consume(t, brokers, 100) {
		n, err := strconv.Atoi(idOf(r))
		if before, ok := last[string(r.Key)]; err != nil || ok && n > before+10 {
			t.Errorf("%s: %d behind %d, %v", r.Key, n, before, err)
		}
		last[string(r.Key)] = n
	}
	batch.Items[70] = deliver.Item{Record: itemOf(70, noise(8000))}
	if got := e.Send(t.Context(), &batch); got.Verdict != deliver.Refused || got.Taken != 70 || !got.First {
		t.Errorf("%+v", got)
	}
}

// A topic that is not there, a broker that is not there, and one with another password have failed,
// in time.
func TestFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Config{
		"no topic":  {Brokers: cluster(t), Topic: "other"},
		"no broker": {Brokers: []string{closed}, Topic: "events"},
		"password":  {Brokers: cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "paddock", "right")), Topic: "events", User: "paddock", Password: "hunter2", Mechanism: "plain"},
	} {
		e := New(c, true)
		e.timeout = 2 * time.Second
		got := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, "")}}})
		e.Close()
		if got.Verdict != deliver.Failed || got.Taken != 0 || strings.Contains(got.Reason, "hunter2") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for mechanism, method := range map[string]string{"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"} {
		e := New(&Config{Brokers: cluster(t, kfake.EnableSASL(), kfake.Superuser(method, "paddock", "right")), Topic: "events", User: "paddock", Password: "right", Mechanism: mechanism}, true)
		if got := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, "")}}}); got.Verdict != deliver.Delivered {
			t.Errorf("%s: %+v", mechanism, got)
		}
		e.Close()
	}
}

// With TLS the broker's certificate is verified, by the authorities of a file if one is named.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	s.Close() // only its certificate is of use, which is one for 127.0.0.1
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	brokers := cluster(t, kfake.TLS(&tls.Config{Certificates: s.TLS.Certificates}))
	for ca, want := range map[string]deliver.Verdict{file: deliver.Delivered, "": deliver.Failed, "absent.pem": deliver.Failed} {
		e := New(&Config{Brokers: brokers, Topic: "events", TLS: true, RootCA: ca}, false)
		if want == deliver.Failed {
			e.timeout = time.Second
		}
		if got := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, "")}}}); got.Verdict != want {
			t.Errorf("%q: %+v", ca, got)
		}
		e.Close()
	}
}

// broker is a kfake in a process of its own.
type broker struct {
	t    *testing.T
	dir  string
	port int
	cmd  *exec.Cmd
}

func (b *broker) start() {
	b.t.Helper()
	b.cmd = exec.Command(os.Args[0])
	b.cmd.Env = append(os.Environ(), kfakeDir+"="+b.dir, fmt.Sprintf("%s=%d", kfakePort, b.port))
	b.cmd.Stderr = os.Stderr
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
}

// kill ends it as kill -9 does.
func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed
}

// A broker that is killed again and again has every event, those of an object in order, and some of
// them more than once.
func TestBrokerIsKilled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b.start()
	defer func() { b.kill() }()
	brokers := []string{fmt.Sprintf("127.0.0.1:%d", b.port)}
	log := events.NewLog(100_000, 64<<20, "e")
	schedule := deliver.Default()
	schedule.Waits = []time.Duration{10 * time.Millisecond}
	end := New(&Config{Brokers: brokers, Topic: "events"}, false)
	end.timeout = 3 * time.Second // what a batch waits for a broker that is gone
	f, err := deliver.New(deliver.Options{
		Name: "sink/kafka", Log: log, Store: &deliver.Volatile{}, Keeps: true, Schedule: schedule, Logger: slog.New(slog.DiscardHandler), Counts: &deliver.Counts{},
	}, deliver.Config{End: end, Selector: deliver.NewSelector(&deliver.Selection{}, nil), Batch: 32, Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go f.Run(ctx)
	told := 0
	await := func(sent int) {
		t.Helper()
		for deadline := time.Now().Add(patience); f.Report().Sent < uint64(sent); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%+v, %+v", f.Report(), f.Report().Last)
			}
		}
	}
	for range 4 {
		for range 400 {
			told++
			log.Append([]events.Record{itemOf(told, "")})
		}
		await(told - 300) // in the middle
		b.kill()
		b.start()
	}
	await(told)
	if err := f.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	last, met := map[string]int{}, map[string]bool{} // by object, by id
	all := consume(t, brokers, told)
	for _, r := range all {
		n, err := strconv.Atoi(idOf(r))
		if err != nil {
			t.Fatal(err)
		}
		if key := string(r.Key); !met[idOf(r)] && n < last[key] {
			t.Errorf("%s: %d came behind %d", key, n, last[key])
		} else {
			last[key] = max(last[key], n)
		}
		met[idOf(r)] = true
	}
	if len(met) != told || len(all)-told > 4*32 {
		t.Errorf("%d records, %d different ones, %d events", len(all), len(met), told)
	}
}

// The section has its faults with their places, and its secrets are not shown.
func TestRead(t *testing.T) {
	file, root := strictyaml.Parse("p.yaml", []byte("brokers: [a:9092, b:9092]\ntopic: events\ntls: true\nuser: u\npassword: hunter2\nmechanism: scram-sha-512\nroot_ca: c.pem\n"))
	c := Read(root)
	c.Locate("/etc")
	if err := file.Err(); err != nil || c.RootCA != "/etc/c.pem" || c.String() != "a:9092,b:9092 events" || strings.Contains(fmt.Sprintf("%+v %v", *c, c), "hunter2") {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"brokers: [a]": "want host:port", "topic: x": "brokers or topic is missing", "brokers: ['a:1']\ntopic: x\nmechanism: md5": "is none of plain, scram",
		"brokers: ['a:1']\ntopic: x\nuser: u": "a password needs tls: true",
	} {
		file, root := strictyaml.Parse("p.yaml", []byte(text+"\n"))
		if Read(root); !strings.Contains(fmt.Sprint(file.Err()), want) {
			t.Errorf("%q: %v", text, file.Err())
		}
	}
}
