package nemesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// answerWithin bounds the wait of a writer for an answer: then it asks another node.
const answerWithin = 8 * time.Second

// slowAnswer is a wait that is logged.
const slowAnswer = 3 * time.Second

// door is a way to send positions to a node. It returns an error unless all are applied.
type door interface {
	send(ctx context.Context, n *node, objects []string, t int64, lat float64) error
	close()
}

// writer sends positions of its own objects, with growing times, through the door of one node after
// the other. It goes on to the next time once all of its positions are acknowledged, and repeats
// them until then.
type writer struct {
	site    *site
	name    string
	door    door
	objects []string
	random  *rand.Rand
	node    int // that it sends to at present

	sent, acknowledged atomic.Int64
	times              []int64 // acknowledged
	acks               []time.Time
	mu                 sync.Mutex // guards acks
}

// pace is the pause of a writer after an answer.
const pace = 40 * time.Millisecond

// run sends until stop is closed, and all of what was sent is acknowledged.
func (w *writer) run(ctx context.Context, stop <-chan struct{}) {
	defer w.door.close()
	last := int64(0)
	for i := 0; ctx.Err() == nil; i++ {
		select {
		case <-stop:
			return
		case <-time.After(pace):
		}
		last = max(last+1, time.Now().UnixMilli())
		w.sent.Add(1)
		for err := errors.New("not sent"); err != nil && ctx.Err() == nil; {
			begun := time.Now()
			bounded, cancel := context.WithTimeout(ctx, answerWithin)
			err = w.door.send(bounded, w.site.nodes[w.node], w.objects, last, 0.5+float64(i%2))
			cancel()
			if took := time.Since(begun); took > slowAnswer {
				w.site.t.Logf("%s: writer %s has waited %.1f s for node %s: %v", time.Now().Format(time.StampMilli), w.name, took.Seconds(), w.site.nodes[w.node].name, err)
			}
			if err != nil {
				w.node = w.random.IntN(len(w.site.nodes))
				<-time.After(20 * time.Millisecond)
			}
		}
		if ctx.Err() != nil {
			return
		}
		w.acknowledged.Add(1)
		w.mu.Lock()
		w.times, w.acks = append(w.times, last), append(w.acks, time.Now())
		w.mu.Unlock()
	}
}

// since returns the times of acknowledgements from a time on.
func (w *writer) since(t time.Time) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, _ := slices.BinarySearchFunc(w.acks, t, time.Time.Compare)
	return slices.Clone(w.acks[i:])
}

// answer is that of every door.
type answer struct {
	Accepted, Late int
	Rejected       []struct {
		Index  int
		Reason string
	}
}

// check returns an error unless all positions of a batch are applied.
func (a *answer) check(count int) error {
	if a.Accepted+a.Late != count || len(a.Rejected) > 0 {
		return fmt.Errorf("%d accepted, %d late: %v", a.Accepted, a.Late, a.Rejected)
	}
	return nil
}

// body returns positions as JSON.
func body(objects []string, t int64, lat float64) string {
	positions := make([]string, len(objects))
	for i, o := range objects {
		positions[i] = fmt.Sprintf(`{"id":%q,"lon":0.5,"lat":%g,"t":%d}`, o, lat, t)
	}
	return "[" + strings.Join(positions, ",") + "]"
}

// httpDoor is POST /v1/positions.
type httpDoor struct{ client http.Client }

func newHTTPDoor() *httpDoor { return &httpDoor{http.Client{Transport: &http.Transport{}}} }

func (d *httpDoor) close() { d.client.CloseIdleConnections() }

func (d *httpDoor) send(ctx context.Context, n *node, objects []string, t int64, lat float64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url("/v1/positions"), strings.NewReader(body(objects, t, lat)))
	if err != nil {
		return err
	}
	res, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var a answer
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", res.Status, err)
	}
	return a.check(len(objects))
}

// busDoor is a request on a subject of positions.
type busDoor struct {
	node *node
	conn *nats.Conn // nil: none
}

func (d *busDoor) close() {
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
}

func (d *busDoor) send(ctx context.Context, n *node, objects []string, t int64, lat float64) (err error) {
	if d.node != n || d.conn == nil {
		d.close()
		if d.conn, err = nats.Connect("nats://"+n.bus, nats.NoReconnect(), nats.Timeout(2*time.Second)); err != nil {
			return err
		}
		d.node = n
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	msg, err := d.conn.RequestWithContext(ctx, "pos._._", []byte(body(objects, t, lat)))
	if err != nil {
		return err
	}
	var a answer
	if err := json.Unmarshal(msg.Data, &a); err != nil {
		return err
	}
	return a.check(len(objects))
}
