package bus_test

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// A client that knows one server only is handed over to another: it reconnects
// there, its subscriptions with it.
func TestHandOver(t *testing.T) {
	t.Run("to another of ours", func(t *testing.T) {
		handOver(t, startServer(t, bus.Config{}).Addr().String())
	})
	t.Run("to the reference", func(t *testing.T) {
		program := os.Getenv("PADDOCK_REFERENCE")
		if program == "" {
			t.Skip("PADDOCK_REFERENCE does not name a nats-server to hand over to")
		}
		handOver(t, startReference(t, program, &history{config: map[string]string{}}))
	})
}

func handOver(t *testing.T, target string) {
	s := startServer(t, bus.Config{
		MigrateTo:        []string{"nats://" + target},
		LameDuckDuration: 200 * time.Millisecond, LameDuckGrace: 100 * time.Millisecond,
	})
	told, moved := make(chan struct{}), make(chan string, 1)
	nc, err := nats.Connect(s.Addr().String(), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1),
		nats.LameDuckModeHandler(func(*nats.Conn) { close(told) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { moved <- nc.ConnectedAddr() }))
	check(t, err)
	defer nc.Close()
	sub, err := nc.SubscribeSync("orders.*")
	check(t, err)
	check(t, nc.Flush())
	check(t, s.LameDuck(t.Context()))
	<-told
	if at := <-moved; at != target {
		t.Fatalf("moved to %s, not to %s", at, target)
	}
	check(t, nc.Flush())
	other, err := nats.Connect(target)
	check(t, err)
	defer other.Close()
	check(t, other.Publish("orders.1", []byte("x")))
	if m, err := sub.NextMsg(patience); err != nil || string(m.Data) != "x" {
		t.Errorf("after the hand-over: %v, %v", m, err)
	}
}
