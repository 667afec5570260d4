package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// event is what the test needs of one.
type event struct {
	ID, Source, Type string
	Data             struct {
		Set    string
		T      time.Time
		Object *struct{ ID string }
	}
}

// name is unique among all events.
func (e *event) name() string { return e.Source + "#" + e.ID }

// history is what readers have seen under each cursor, at any node and any time.
type history struct {
	seed maphash.Seed
	mu   sync.Mutex
	sums []uint64 // of the events with the cursors 1, 2, 3; 0: not seen
}

// note notes an event, and returns an error if another one was seen under its cursor.
func (h *history) note(cursor uint64, text string) error {
	sum := max(maphash.String(h.seed, text), 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for uint64(len(h.sums)) < cursor {
		h.sums = append(h.sums, 0)
	}
	at := &h.sums[cursor-1]
	if *at != 0 && *at != sum {
		return fmt.Errorf("another event was seen under cursor %d than %s", cursor, text)
	}
	*at = sum
	return nil
}

// reader follows the events at one node after the other, from the first event on.
type reader struct {
	site   *site
	name   string
	random *rand.Rand
	seen   *history
	last   string        // cursor
	number atomic.Uint64 // of it
}

var errWrong = errors.New("wrong")

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		n := r.site.nodes[r.random.IntN(len(r.site.nodes))]
		bounded, cancel := context.WithTimeout(ctx, time.Duration(1+r.random.IntN(9))*time.Second)
		err := r.follow(bounded, n)
		cancel()
		if errors.Is(err, errWrong) {
			r.site.t.Errorf("reader %s at node %s: %v", r.name, n.name, err)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// follow reads the events of a node behind the last one.
func (r *reader) follow(ctx context.Context, n *node) error {
	query := "?from=1970-01-01T00:00:00Z"
	if r.last != "" {
		query = "?cursor=" + r.last
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("/v1/events"+query), http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		if res.StatusCode/100 == 4 {
			return fmt.Errorf("%w: cursor %q: %s %s", errWrong, r.last, res.Status, b)
		}
		return fmt.Errorf("%s %s", res.Status, b)
	}
	lines := bufio.NewReader(res.Body)
	var id, kind string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if err := r.take(id, kind, value); err != nil {
				return fmt.Errorf("%w: %w", errWrong, err)
			}
		}
	}
}

// take takes an event, whose cursor has to be the next one.
func (r *reader) take(id, kind, text string) error {
	_, count, _ := strings.Cut(id, "-")
	cursor, err := strconv.ParseUint(count, 10, 64)
	if err != nil {
		return err
	}
	if last := r.number.Load(); cursor != last+1 || kind == "gap" {
		return fmt.Errorf("%s %s follows %d: %s", kind, id, last, text)
	}
	r.last = id
	r.number.Store(cursor)
	return r.seen.note(cursor, text)
}

// parse reads events that were written one a line.
func parse(text []byte) (all []event, err error) {
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		all = append(all, e)
	}
	return all, nil
}
