package growcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the waits of the test.
const patience = 2 * time.Minute

// client is a program that lists all nodes, and asks the next one if one is not there or refuses.
type client struct {
	nodes []string // URLs
	key   string
	http  http.Client
}

// ask makes a request at a node.
func (c *client) ask(ctx context.Context, node, method, path, body string) (status int, answer string, err error) {
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, method, node+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// load sends positions of objects, of which each has a client, until it is stopped.
type load struct {
	t       *testing.T
	stop    context.CancelFunc
	workers sync.WaitGroup
	acked   []atomic.Int64 // number of the last acknowledged position of each object
	retried atomic.Int64   // requests that failed in a way that the guide names
}

const objects = 8

// begin starts the load.
func begin(t *testing.T, c *client) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{t: t, stop: stop, acked: make([]atomic.Int64, objects)}
	for i := range objects {
		l.workers.Go(func() { l.drive(ctx, c, i) })
	}
	return l
}

// drive moves an object back and forth over the boundary of the fence: position n is outside if
// n is odd. A position is sent again until it is acknowledged.
func (l *load) drive(ctx context.Context, c *client, i int) {
	at := i
	for n := int64(1); ctx.Err() == nil; n++ {
		body := fmt.Sprintf(`{"id":"v%d","lon":%g,"lat":0.5,"t":%d}`, i, lonOf(n), 1_700_000_000_000+n)
		for !l.send(ctx, c, c.nodes[at%len(c.nodes)], body) {
			if ctx.Err() != nil {
				return
			}
			at++
			pause(ctx, 50*time.Millisecond)
		}
		l.acked[i].Store(n)
		pause(ctx, 10*time.Millisecond)
	}
}

func lonOf(n int64) float64 {
	if n%2 == 1 {
		return 1.5
	}
	return 0.5
}

// send reports whether a position was acknowledged. A connection that is refused or cut, and 503,
// are the failures that the guide names.
func (l *load) send(ctx context.Context, c *client, node, body string) bool {
	status, answer, err := c.ask(ctx, node, http.MethodPost, "/v1/positions", body)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil || status == http.StatusServiceUnavailable:
		l.retried.Add(1)
		return false
	}
	var r struct{ Accepted, Late int }
	if err := json.Unmarshal([]byte(answer), &r); status != http.StatusOK || err != nil || r.Accepted+r.Late != 1 {
		l.t.Errorf("%s: %s: %d %s", node, body, status, answer)
	}
	return true
}

// lookUp asks all nodes where a point is, again and again while f runs. No answer may fail.
func lookUp(t *testing.T, c *client, f func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var asked atomic.Int64
	for _, node := range c.nodes {
		asking.Go(func() {
			for ctx.Err() == nil {
				status, answer, err := c.ask(ctx, node, http.MethodGet, "/v1/search?lon=0.5&lat=0.5", "")
				if ctx.Err() == nil && (err != nil || status != http.StatusOK || !strings.Contains(answer, `"yard"`)) {
					t.Errorf("a look-up at %s: %d %s, %v", node, status, answer, err)
					return
				}
				asked.Add(1)
				pause(ctx, 20*time.Millisecond)
			}
		})
	}
	f()
	stop()
	asking.Wait()
	if asked.Load() == 0 {
		t.Error("nothing was looked up")
	}
}

// end stops the load.
func (l *load) end() {
	l.stop()
	l.workers.Wait()
}

// asker returns a client whose connections end with the test.
func asker(t *testing.T) client {
	c := client{http: http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// moves waits until each object has had some more positions acknowledged.
func (l *load) moves() {
	l.t.Helper()
	for i := range l.acked {
		from := l.acked[i].Load()
		await(l.t, fmt.Sprintf("v%d is stuck at %d", i, from), func() bool { return l.acked[i].Load() >= from+3 })
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// await waits for a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); pause(t.Context(), 50*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s, for %v", what, patience)
		}
	}
}
