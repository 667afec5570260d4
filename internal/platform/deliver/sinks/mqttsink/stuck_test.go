package mqttsink

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"paddock/internal/platform/deliver"
)

// A broker that takes nothing from its connection any more, as at the other end of a cut line, is
// waited for as long as one that does not acknowledge, and no longer than the caller waits.
func TestStuckBroker(t *testing.T) {
	t.Parallel()
	long := deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, `,"x":"`+strings.Repeat("x", 8<<20)+`"`)}}}
	for timeout, cut := range map[time.Duration]bool{50 * time.Millisecond: false, patience: true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stuck, ended := make(chan struct{}), make(chan struct{})
		var broker sync.WaitGroup
		broker.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if _, err := packets.ReadPacket(conn); err == nil {
				_, _ = packets.NewControlPacket(packets.CONNACK).WriteTo(conn)
				_, _ = io.ReadFull(conn, make([]byte, 16)) // the beginning of the message
			}
			close(stuck)
			<-ended
		})
		e := New(&Config{URL: "mqtt://" + l.Addr().String(), ClientID: "paddock"}, false)
		e.timeout = timeout
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan deliver.Result)
		go func() {
			r := e.Send(ctx, &long)
			e.Close()
			sent <- r
		}()
		if <-stuck; cut {
			cancel()
		}
		select {
		case r := <-sent:
			if r.Verdict != deliver.Failed {
				t.Errorf("%+v", r)
			}
			close(ended)
		case <-time.After(patience / 6):
			t.Errorf("still waiting; cut: %v", cut)
			close(ended)
			<-sent
		}
		cancel()
		_ = l.Close()
		broker.Wait()
	}
}
