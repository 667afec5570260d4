package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"paddock/internal/platform/journal/streamlog"
)

// check judges the cluster once nothing happens any more. A node more, which begins with nothing,
// loads the newest snapshot and applies the rest of the log.
func (s *site) check(writers []*writer, c *changer, seen *history, readers []*reader) {
	s.t.Helper()
	s.awaitLeader()
	fresh := s.addNode()
	s.run(fresh)
	text := s.settled()
	all, err := parse(text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.checkPositions(all, writers)
	s.checkEvents(text, seen, readers)
	s.checkTracks(writers)
	s.checkErasure(writers[0].objects[0])
	text = s.settled()
	if all, err = parse(text); err != nil {
		s.t.Fatal(err)
	}
	s.checkStates(c)
	s.checkHook(all)
	s.checkLog()
	for _, n := range s.nodes {
		s.end(n)
	}
	for _, n := range s.nodes {
		out, err := exec.Command(s.program, "check", "--replay", "--data", filepath.Join(n.dir, "data")).CombinedOutput()
		if err != nil {
			s.t.Errorf("node %s: %v: %s", n.name, err, out)
		}
	}
	s.t.Logf("%d events are the same at %d nodes", len(all), len(s.nodes))
}

// settled waits until all nodes have the same events, and returns them.
func (s *site) settled() (text []byte) {
	s.t.Helper()
	cursors := make([]string, len(s.nodes))
	same, since := "", time.Now()
	s.await("all nodes at the same cursor", func() bool {
		for i, n := range s.nodes {
			cursors[i] = s.latest(n)
		}
		if cursors[0] == "" || slices.ContainsFunc(cursors, func(c string) bool { return c != cursors[0] }) || cursors[0] != same {
			same, since = cursors[0], time.Now()
			return false
		}
		return time.Since(since) > time.Second
	})
	for i, n := range s.nodes {
		of := s.events(n)
		if i == 0 {
			text = of
		} else if !bytes.Equal(of, text) {
			s.t.Errorf("nodes %s and %s have different events: %s", s.nodes[0].name, n.name, firstDifference(text, of))
		}
	}
	return text
}

// latest returns the cursor of the newest event of a node, or "".
func (s *site) latest(n *node) string {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, n.url("/v1/events?wait=0&last=1"), http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	return res.Header.Get("Paddock-Cursor")
}

// events returns all events of a node, a line each.
func (s *site) events(n *node) (text []byte) {
	s.t.Helper()
	for cursor := ""; ; {
		query := "?wait=0&format=ndjson"
		if cursor != "" {
			query += "&cursor=" + cursor
		}
		header, part := s.get(n, "/v1/events"+query)
		if len(part) == 0 {
			return text
		}
		text = append(text, part...)
		cursor = header.Get("Paddock-Cursor")
	}
}

// firstDifference returns the first lines that differ.
func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("event %d is\n%s\nand\n%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d", len(x)-1, len(y)-1)
}

// checkPositions checks that each acknowledged position was accepted once, and in the order of its
// object: each one enters another fence than the one before.
func (s *site) checkPositions(all []event, writers []*writer) {
	s.t.Helper()
	entered := map[string][]int64{}
	for i := range all {
		if e := &all[i]; e.Data.Set == "base" && strings.HasSuffix(e.Type, ".enter") {
			entered[e.Data.Object.ID] = append(entered[e.Data.Object.ID], e.Data.T.UnixMilli())
		}
	}
	count := 0
	for _, w := range writers {
		for _, o := range w.objects {
			if got := entered[o]; !slices.Equal(got, w.times) {
				i := 0
				for i < min(len(got), len(w.times)) && got[i] == w.times[i] {
					i++
				}
				s.t.Errorf("object %s: %d positions are acknowledged, %d are in the log; the first difference is at number %d", o, len(w.times), len(got), i)
			}
			count += len(w.times)
		}
	}
	s.t.Logf("%d acknowledged positions are in the log", count)
}

// checkTracks checks that each node has the past of the objects: each acknowledged position once.
func (s *site) checkTracks(writers []*writer) {
	s.t.Helper()
	for _, n := range s.nodes {
		for _, w := range writers {
			for _, o := range w.objects {
				var times []int64
				for line := range strings.Lines(string(s.body(n, "/v1/objects/"+o+"/track?format=ndjson&limit=100000"))) {
					var p struct{ T time.Time }
					if err := json.Unmarshal([]byte(line), &p); err != nil {
						s.t.Fatalf("%v: %s", err, line)
					}
					times = append(times, p.T.UnixMilli())
				}
				if !slices.Equal(times, w.times) {
					s.t.Errorf("object %s: %d positions are acknowledged, %d are in its past at node %s", o, len(w.times), len(times), n.name)
				}
			}
		}
	}
}

// checkErasure checks that the past of an object is removed at all nodes.
func (s *site) checkErasure(object string) {
	s.t.Helper()
	s.await("DELETE of "+object, func() bool {
		status, _, err := request(s.t.Context(), time.Minute, http.MethodDelete, s.follower().url("/v1/objects/"+object+"?history=1"), "")
		return err == nil && status == http.StatusNoContent
	})
	s.await("the end of the past of "+object, func() bool {
		return !slices.ContainsFunc(s.nodes, func(n *node) bool {
			status, answer, err := request(s.t.Context(), time.Minute, http.MethodGet, n.url("/v1/objects/"+object+"/track?format=ndjson"), "")
			return err != nil || status == http.StatusOK && len(answer) > 0
		})
	})
}

// checkEvents checks that readers have seen the events that are kept.
func (s *site) checkEvents(text []byte, seen *history, readers []*reader) {
	s.t.Helper()
	cursor := uint64(0)
	for line := range strings.Lines(string(text)) {
		cursor++
		if err := seen.note(cursor, strings.TrimSuffix(line, "\n")); err != nil {
			s.t.Error(err)
			return
		}
	}
	for _, r := range readers {
		if n := r.number.Load(); n > cursor {
			s.t.Errorf("reader %s has seen %d events, and %d are kept", r.name, n, cursor)
		}
	}
}

// checkStates checks that all nodes have the same objects, sets and rules, and what was
// acknowledged.
func (s *site) checkStates(c *changer) {
	s.t.Helper()
	var states []map[string]string
	for _, n := range s.nodes {
		state := map[string]string{}
		for _, path := range []string{"/v1/objects?limit=10000", "/v1/sets", "/v1/rules?limit=1000", "/v1/webhooks", "/v1/sets/base"} {
			state[path] = string(s.body(n, path))
		}
		var list struct{ Sets []map[string]any }
		if err := json.Unmarshal([]byte(state["/v1/sets"]), &list); err != nil {
			s.t.Fatal(err)
		}
		for i := range list.Sets {
			delete(list.Sets[i], "index") // its memory is that of the process
			path := fmt.Sprint("/v1/sets/", list.Sets[i]["name"])
			state[path] = string(s.body(n, path))
		}
		state["/v1/sets"] = fmt.Sprint(list.Sets)
		states = append(states, state)
	}
	for i, n := range s.nodes[1:] {
		for path, text := range states[0] {
			if other := states[i+1][path]; other != text {
				s.t.Errorf("nodes %s and %s differ in %s:\n%.3000s\nand\n%.3000s", s.nodes[0].name, n.name, path, text, other)
			}
		}
	}
	for path, part := range c.kept {
		text := states[0][path]
		if strings.HasPrefix(path, "/v1/rules") {
			s.await("GET "+path, func() bool {
				status, answer, err := request(s.t.Context(), time.Minute, http.MethodGet, s.nodes[0].url(path), "")
				if text = string(answer); status != http.StatusOK {
					text = ""
				}
				return err == nil && status/100 != 5
			})
		}
		if !strings.Contains(text, fmt.Sprintf("%q", part)) {
			s.t.Errorf("%s was acknowledged with %q, and is %q", path, part, text)
		}
	}
	s.t.Logf("%d changes were acknowledged, %d sets and rules are left", c.done, len(c.kept))
}

// checkHook checks that the webhook got every event, and first in the order of the log.
func (s *site) checkHook(all []event) {
	s.t.Helper()
	s.await("all events at the webhook", func() bool { return s.hook.count() >= len(all) })
	s.hook.mu.Lock()
	defer s.hook.mu.Unlock()
	for i := range all {
		if name := all[i].name(); s.hook.order[i] != name {
			s.t.Errorf("event %d is %s, and the webhook got %s", i+1, name, s.hook.order[i])
			return
		}
	}
}

// checkLog checks that terms and numbers ascend in the log.
func (s *site) checkLog() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	l, err := streamlog.Open(ctx, s.admin, streamlog.Config{Stream: stream, Subject: "pdk.paddock.log", Copies: "pdk.paddock.copies"})
	if err != nil {
		s.t.Fatal(err)
	}
	head, err := l.Head(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	oldest := s.oldestMessage(ctx)
	errEnough := errors.New("enough")
	var term, number, claims uint64
	err = l.Follow(ctx, oldest-1, func(e *streamlog.Entry) error {
		switch {
		case term == 0 && oldest > 1: // what is before it is in a snapshot
		case e.Node != "" && (e.Term != term+1 || e.Number != number):
			return fmt.Errorf("a claim of term %d behind entry %d follows term %d and entry %d", e.Term, e.Number, term, number)
		case e.Node == "" && (e.Term != term || e.Number != number+1):
			return fmt.Errorf("entry %d of term %d follows term %d and entry %d", e.Number, e.Term, term, number)
		}
		if term, number = e.Term, e.Number; e.Node != "" {
			claims++
		}
		if e.Sequence >= head.Whole {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		s.t.Errorf("the log: %v", err)
	}
	s.t.Logf("the log has messages %d to %d, with %d entries and %d changes of the leader", oldest, head.Sequence, number, claims)
}

// oldestMessage returns the sequence of the first message of the log: snapshots have what was
// before it.
func (s *site) oldestMessage(ctx context.Context) uint64 {
	s.t.Helper()
	js, err := jetstream.New(s.admin)
	if err != nil {
		s.t.Fatal(err)
	}
	of, err := js.Stream(ctx, stream)
	if err != nil {
		s.t.Fatal(err)
	}
	return of.CachedInfo().State.FirstSeq
}
