package bus_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The model: the deliveries that a broker with these connections has to make, in 60 lines.
type model struct{ subs []*modelSub }

type modelSub struct {
	conn, sid      int
	pattern, queue string
	delivered, max int
	ended          bool
	got            []string // the deliveries of the broker
	want           []string // plain: exactly this
}

func (m *model) find(conn, sid int) *modelSub {
	for _, s := range m.subs {
		if !s.ended && s.conn == conn && s.sid == sid {
			return s
		}
	}
	return nil
}

func (m *model) sub(conn, sid int, pattern, queue string) {
	if m.find(conn, sid) == nil {
		m.subs = append(m.subs, &modelSub{conn: conn, sid: sid, pattern: pattern, queue: queue})
	}
}

func (m *model) unsub(conn, sid, limit int) {
	if s := m.find(conn, sid); s != nil {
		s.max = limit
		s.ended = limit == 0 || s.delivered >= limit
	}
}

// publish returns the sids of each queue that the message may go to: exactly
// one of each list has to get it.
func (m *model) publish(subject, id string) (queues map[string][]*modelSub) {
	queues = make(map[string][]*modelSub)
	for _, s := range m.subs {
		switch {
		case s.ended || !modelMatch(strings.Split(s.pattern, "."), strings.Split(subject, ".")):
		case s.queue != "":
			queues[s.queue] = append(queues[s.queue], s)
		default:
			s.want = append(s.want, id)
			s.count()
		}
	}
	return queues
}

func (s *modelSub) count() {
	s.delivered++
	s.ended = s.ended || s.max > 0 && s.delivered >= s.max
}

func modelMatch(p, s []string) bool {
	switch {
	case len(p) == 0 || len(s) == 0:
		return len(p) == len(s)
	case p[0] == ">":
		return true
	default:
		return (p[0] == "*" || p[0] == s[0]) && modelMatch(p[1:], s[1:])
	}
}

// TestModel plays random histories: each publication is followed by a PING on every connection, so
// that the deliveries are known before the next step.
func TestModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playRandom(t, rand.New(rand.NewPCG(seed, 1)), 150) })
	}
}

const modelConns = 3

func playRandom(t *testing.T, rng *rand.Rand, steps int) {
	s := startServer(t, configForTest)
	var peers []*peer
	for range modelConns {
		p := dialPeer(t, s)
		p.write("CONNECT {\"verbose\":false}\r\n")
		peers = append(peers, p)
	}
	m := new(model)
	for step := range steps {
		conn, sid := rng.IntN(modelConns), rng.IntN(8)
		switch rng.IntN(5) {
		case 0, 1:
			pattern, queue := randomTokens(rng, "a", "b", "*", ">"), pick(rng, "", "", "q", "r")
			peers[conn].write("SUB %s %s %d\r\n", pattern, queue, sid)
			peers[conn].sync()
			m.sub(conn, sid, pattern, queue)
		case 2:
			limit := rng.IntN(6)
			peers[conn].write("UNSUB %d %d\r\n", sid, limit)
			peers[conn].sync()
			m.unsub(conn, sid, limit)
		default:
			subject, id := randomTokens(rng, "a", "b"), fmt.Sprint(step)
			peers[conn].write("PUB %s %d\r\n%s\r\n", subject, len(id), id)
			checkPublished(t, m, peers, conn, m.publish(subject, id), id)
		}
	}
	for _, sub := range m.subs {
		if sub.queue == "" && !slices.Equal(sub.got, sub.want) {
			t.Errorf("conn %d sid %d %q: got %v, want %v", sub.conn, sub.sid, sub.pattern, sub.got, sub.want)
		}
	}
}

// checkPublished collects the deliveries of one publication and counts the queues.
func checkPublished(t *testing.T, m *model, peers []*peer, from int, queues map[string][]*modelSub, id string) {
	t.Helper()
	perQueue := make(map[string]int)
	order := append([]int{from}, slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return i == from })...)
	for _, conn := range order { // the publisher first: its PONG comes after the routing
		for _, sid := range peers[conn].sync() {
			sub := m.receiver(conn, sid, id, queues)
			if sub == nil {
				t.Fatalf("conn %d sid %d got message %s unasked", conn, sid, id)
			}
			if sub.got = append(sub.got, id); sub.queue != "" {
				perQueue[sub.queue]++
				sub.count()
			}
		}
	}
	for queue := range queues {
		if perQueue[queue] != 1 {
			t.Fatalf("queue %s got message %s %d times", queue, id, perQueue[queue])
		}
	}
}

// receiver finds the subscription that may have received message id.
func (m *model) receiver(conn, sid int, id string, queues map[string][]*modelSub) *modelSub {
	for _, s := range m.subs {
		if s.conn != conn || s.sid != sid || slices.Contains(s.got, id) {
			continue
		}
		if s.queue == "" && slices.Contains(s.want, id) || slices.Contains(queues[s.queue], s) {
			return s
		}
	}
	return nil
}

// randomTokens makes a subject or pattern; > only ends it.
func randomTokens(rng *rand.Rand, tokens ...string) string {
	var list []string
	for range 1 + rng.IntN(3) {
		tok := pick(rng, tokens...)
		if list = append(list, tok); tok == ">" {
			break
		}
	}
	return strings.Join(list, ".")
}

func pick(rng *rand.Rand, from ...string) string { return from[rng.IntN(len(from))] }
