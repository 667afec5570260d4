package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eclipse/paho.golang/paho"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"paddock/internal/platform/doors/source/sourcetest"
)

// sinkFile writes a configuration file with sinks.
func sinkFile(t *testing.T, dir, sinks string) string {
	t.Helper()
	file := filepath.Join(dir, "paddock.yaml")
	text := "http: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\ntrack: {policy: raw, initial: enter}\nsinks:\n" + sinks
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// killDelivering kills a platform again and again while a sink delivers, and returns the ids of its
// events, once the sink has all of them.
func killDelivering(t *testing.T, dir, sink string) (want []string) {
	t.Helper()
	data, file := t.TempDir(), sinkFile(t, dir, sink)
	begin := func() *upProcess { return startUpAs(t, program(t, "up", "-c", file, "--data", data)) }
	p := begin()
	p.request(t, "PUT", "v1/sets/s", squareFeature)
	for range hookKills {
		ctx, stop := context.WithCancel(t.Context())
		enough := p.sent.Load() + 100
		var load sync.WaitGroup
		done := p.load(ctx, 2)
		load.Go(func() { done() })
		until(ctx, t, "few positions are sent", func() error { return p.hasSent(enough) })
		_ = p.Process.Kill()
		stop()
		load.Wait()
		_ = p.Wait() // it was killed
		sent := p.sent.Load()
		p = begin()
		p.sent.Store(sent) // times ascend
	}
	until(t.Context(), t, "the sink does not have all events", func() error {
		var list struct {
			Sinks []struct{ State struct{ Lag int } }
		}
		err := json.Unmarshal([]byte(p.request(t, "GET", "v1/sinks", "")), &list)
		if err == nil && list.Sinks[0].State.Lag > 0 {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	want = sinkIDs(t, p.request(t, "GET", "v1/events?wait=0", ""))
	p.terminate(t)
	return want
}

// checkDelivered checks that every event has arrived, in order, apart from some that came again
// behind a kill.
func checkDelivered(t *testing.T, want, got []string) {
	t.Helper()
	repeats := len(got) - len(want)
	if once := firstOf(got); !slices.Equal(once, want) || repeats > hookKills*256 {
		t.Errorf("%d events, %d of them delivered in another order or number, %d repeats", len(want), len(once), repeats)
	}
}

// In the end the file has every event as a whole line.
func TestFileSinkSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := killDelivering(t, dir, "  - {id: archive, file: {path: events.ndjson, max_bytes: 10KB, keep: 1000}}\n")
	parts, err := filepath.Glob(filepath.Join(dir, "events-*.ndjson"))
	if err != nil || len(parts) == 0 {
		t.Errorf("the file was not rotated: %q, %v", parts, err)
	}
	var all strings.Builder
	for _, part := range append(parts, filepath.Join(dir, "events.ndjson")) {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	checkDelivered(t, want, sinkIDs(t, all.String()))
}

// A subscriber of the broker, a real mosquitto, gets every event.
func TestMQTTSinkSurvivesKills(t *testing.T) {
	t.Parallel()
	broker := sourcetest.Mosquitto(t)
	conn, err := net.Dial("tcp", broker.Addr)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	client := paho.NewClient(paho.ClientConfig{ClientID: "reader", Conn: conn, OnPublishReceived: []func(paho.PublishReceived) (bool, error){
		func(p paho.PublishReceived) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, sinkIDs(t, string(p.Packet.Payload))...)
			return true, nil
		},
	}})
	if _, err := client.Connect(t.Context(), &paho.Connect{
		ClientID: "reader", CleanStart: true, KeepAlive: 30, UsernameFlag: true, Username: sourcetest.User, PasswordFlag: true, Password: []byte(sourcetest.Password),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "#", QoS: 1}}}); err != nil {
		t.Fatal(err)
	}
	want := killDelivering(t, t.TempDir(), fmt.Sprintf("  - {id: home, mqtt: {url: 'mqtt://%s', user: %s, password: %s}}\n", broker.Addr, sourcetest.User, sourcetest.Password))
	for all := false; !all; runtime.Gosched() { // what the broker has taken arrives
		mu.Lock()
		all = len(firstOf(got)) >= len(want)
		mu.Unlock()
	}
	_ = client.Disconnect(&paho.Disconnect{}) // the broker may have ended
	<-client.Done()
	checkDelivered(t, want, got)
}

// A consumer of the topic gets every event. The broker is kfake, franz-go's own.
func TestKafkaSinkSurvivesKills(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	brokers := cluster.ListenAddrs()
	want := killDelivering(t, t.TempDir(), fmt.Sprintf("  - {id: stream, kafka: {brokers: ['%s'], topic: events}}\n", strings.Join(brokers, "', '")))
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("events"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var got []string
	for len(firstOf(got)) < len(want) {
		fetched := client.PollFetches(t.Context())
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range fetched.Records() {
			got = append(got, sinkIDs(t, string(r.Value))...)
		}
	}
	checkDelivered(t, want, got)
}

// sinkIDs returns the ids of events, one JSON object a line.
func sinkIDs(t *testing.T, text string) (all []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e struct{ ID, Source string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, fmt.Sprint(e.ID, " ", e.Source))
	}
	return all
}

// firstOf returns the values without their repeats.
func firstOf(values []string) (once []string) {
	met := map[string]bool{}
	for _, v := range values {
		if !met[v] {
			met[v] = true
			once = append(once, v)
		}
	}
	return once
}
