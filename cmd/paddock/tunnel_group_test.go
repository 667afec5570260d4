//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/process/keyid"
)

// groupService is one of those behind a group. Its answers take a moment.
type groupService struct {
	*httptest.Server
	served atomic.Int64
	orders *sync.Map // of POSTs that some service has done, by their bodies
	twice  atomic.Int64
}

const groupAnswer, groupLong = 2_000, 1 << 20

func newGroupService(t *testing.T, orders *sync.Map) *groupService {
	s := &groupService{orders: orders}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			order, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if _, done := s.orders.LoadOrStore(string(order), true); done {
				s.twice.Add(1)
			}
		}
		<-time.After(3 * time.Millisecond)
		s.served.Add(1)
		size := groupAnswer
		if r.URL.Path == "/long" {
			size = groupLong
		}
		_, _ = w.Write(make([]byte, size))
	}))
	t.Cleanup(s.Close)
	return s
}

// crowd is a number of visitors, each of which sends the same request again and again.
type crowd struct {
	method, path string
	size         int
	n            int
	asked        atomic.Int64
	mu           sync.Mutex
	lost         []error // guarded by mu
}

// run asks until stop.
func (c *crowd) run(s *standing, stop <-chan struct{}) {
	var all sync.WaitGroup
	for i := range c.n {
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: killTime}
			defer client.CloseIdleConnections()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := c.ask(s, client, fmt.Sprintf("%s %d %d", c.method, i, n)); err != nil {
					c.mu.Lock()
					c.lost = append(c.lost, err)
					c.mu.Unlock()
				}
				c.asked.Add(1)
			}
		})
	}
	all.Wait()
}

func (c *crowd) ask(s *standing, client *http.Client, order string) error {
	var body io.Reader
	if c.method == http.MethodPost {
		body = strings.NewReader(order)
	}
	r, err := http.NewRequestWithContext(s.ctx, c.method, "http://"+s.front+c.path, body)
	if err != nil {
		return err
	}
	r.Host, r.GetBody = "app.example", nil // and so it is not sent again by the visitor
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || n != int64(c.size)) {
		err = fmt.Errorf("%s, %d bytes", res.Status, n)
	}
	return err
}

// Two clients share a name, and one of them is killed under load. Only exchanges in progress there
// that cannot be repeated are lost: at most one for each visitor that posts, or whose answer had
// begun. No other GET is lost, and no POST is executed twice. The client becomes a member again
// when it reconnects.
func TestTunnelGroupMemberIsKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*killTime)
	defer cancel()
	s := newStanding(ctx, t)
	other, err := keyid.Make(filepath.Join(s.dir, "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	s.allow = "app.example,group:web"
	s.more = []string{"--allow", other.ID.String() + "=app.example,group:web"}
	s.serve(0)
	var orders sync.Map
	start := func(key string, service *groupService) *tunnelProcess {
		file := filepath.Join(s.dir, key+".yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, "tunnel:\n  connect: {server: %q, server_id: %s, key: %s}\n  tunnels:\n"+
			"    web: {proto: http, addr: %q, host: app.example, group: web}\n", s.link, s.id, key, service.Listener.Addr()), 0o600); err != nil {
			t.Fatal(err)
		}
		c := s.start("start", "-c", file)
		c.line("http://app.example")
		return c
	}
	one, two := newGroupService(t, &orders), newGroupService(t, &orders)
	killed := start("client.key", one)
	start("other.key", two)

	gets := &crowd{method: http.MethodGet, path: "/", size: groupAnswer, n: 8}
	posts := &crowd{method: http.MethodPost, path: "/", size: groupAnswer, n: 4}
	longs := &crowd{method: http.MethodGet, path: "/long", size: groupLong, n: 2}
	stop := make(chan struct{})
	var load sync.WaitGroup
	for _, c := range []*crowd{gets, posts, longs} {
		load.Go(func() { c.run(s, stop) })
	}
	asked := func(more int64) {
		from := [3]int64{gets.asked.Load() + 10*more, posts.asked.Load() + 4*more, longs.asked.Load() + more}
		until(ctx, t, "visitors do not come on", func() error {
			if gets.asked.Load() < from[0] || posts.asked.Load() < from[1] || longs.asked.Load() < from[2] {
				return errors.New("too few")
			}
			return nil
		})
	}
	asked(10)
	killed.kill()
	alone := one.served.Load()
	asked(10)
	if n := one.served.Load() - alone; n > 14 {
		t.Errorf("the service of the client that was killed has served %d more", n)
	}
	alone = one.served.Load()
	start("client.key", one)
	asked(10)
	close(stop)
	load.Wait()
	t.Logf("%d GETs, %d lost; %d POSTs, %d lost; %d long answers, %d lost", gets.asked.Load(), len(gets.lost),
		posts.asked.Load(), len(posts.lost), longs.asked.Load(), len(longs.lost))
	if len(gets.lost) > 0 {
		t.Errorf("GETs are lost: %v", gets.lost)
	}
	if len(posts.lost) > posts.n || len(longs.lost) > longs.n {
		t.Errorf("more is lost than was under way: %v, %v", posts.lost, longs.lost)
	}
	if one.twice.Load()+two.twice.Load() > 0 {
		t.Error("POSTs were done twice")
	}
	if one.served.Load() == alone || two.served.Load() == 0 {
		t.Error("the client that has come back has no visitors")
	}
}
