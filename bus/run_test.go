package bus_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// listenerOf is a connection that listens to a fan-out, and the bytes that it has to get.
type listenerOf struct {
	*peer
	sids []string
	want []string // operation by operation
}

// TestRunsArriveMessageByMessage publishes long runs to one subject, broken by everything that may
// come between, in few writes, and compares every byte with the output of a delivery of each
// message by itself.
func TestRunsArriveMessageByMessage(t *testing.T) {
	s := startServer(t, configForTest)
	all := []*listenerOf{{sids: []string{"1"}}, {sids: []string{"1"}}, {sids: []string{"long-id"}}, {sids: []string{"7", "8"}}, {sids: []string{"1"}}}
	for _, l := range all {
		l.peer = dialPeer(t, s)
		l.write("CONNECT {\"verbose\":false,\"headers\":true}\r\n")
		l.write("SUB other %s\r\n", l.sids[0])
		for i, sid := range l.sids { // two of a client: not by the same pattern
			l.write("SUB %s %s0\r\n", []string{"fan.a", "fan.*"}[i], sid)
		}
		l.sync()
	}
	const limit = 700
	limited := all[4]
	limited.write("UNSUB 10 %d\r\n", limit)
	limited.sync()
	left := limit
	random := rand.New(rand.NewPCG(1, 2))
	publisher := dialPeer(t, s)
	publisher.write("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n")
	for round := range 30 {
		if round == 15 { // now most have one subscription of another client beside them
			all[3].write("UNSUB 80\r\n")
			all[3].sync()
			all[3].sids = all[3].sids[:1]
		}
		var batch strings.Builder
		pongs := 0
		for i := range 200 {
			data := strings.Repeat("x", random.IntN(40)) + fmt.Sprint(round, ".", i)
			if random.IntN(50) == 0 {
				data = strings.Repeat("long", 1000)
			}
			subject, reply, header := "fan.a", "", ""
			switch random.IntN(60) {
			case 0:
				subject = "other"
			case 1:
				reply = "answer.here "
			case 2:
				header = "NATS/1.0\r\nA: b\r\n\r\n"
			case 3:
				batch.WriteString("PING\r\n")
				pongs++
			case 4:
				fmt.Fprintf(&batch, "SUB nowhere %d\r\n", i)
			}
			op, hop, sizes := "PUB", "MSG", fmt.Sprint(len(data))
			if header != "" {
				op, hop, sizes = "HPUB", "HMSG", fmt.Sprint(len(header), " ", len(header)+len(data))
			}
			fmt.Fprintf(&batch, "%s %s %s%s\r\n%s%s\r\n", op, subject, reply, sizes, header, data)
			for _, l := range all {
				sids := l.sids[:1]
				if subject == "fan.a" {
					sids = nil
					for _, sid := range l.sids {
						sids = append(sids, sid+"0")
					}
					if l == limited {
						if left--; left < 0 {
							continue
						}
					}
				}
				for _, sid := range sids {
					l.want = append(l.want, fmt.Sprintf("%s %s %s %s%s\r\n%s%s\r\n", hop, subject, sid, reply, sizes, header, data))
				}
			}
		}
		publisher.write("%s", batch.String())
		for range pongs {
			publisher.expect("publisher", "PONG\r\n")
		}
		publisher.sync()
		for i, l := range all {
			for k, want := range l.want {
				l.expect(fmt.Sprint("round ", round, ", listener ", i, ", message ", k), want)
			}
			l.want = nil
		}
	}
}
