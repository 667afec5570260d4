package clusterstate

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/lab/compare/internal/nats/servers"
)

// begin makes a cluster of two nodes that has a set and some events.
func begin(t *testing.T, count int) (c *servers.Cluster, a, b *node) {
	t.Helper()
	c = servers.Start(t, count)
	runs(t, "cluster", "init", "--bus", c.URL(), "--replicas", fmt.Sprint(count))
	a, b = newNode(t, "a", c.URL()).start(), newNode(t, "b", c.URL()).start()
	a.do(http.MethodPut, "v1/sets/s", square)
	return c, a, b
}

// A node that joins once the log is trimmed answers as the others, and goes on with them.
func TestJoin(t *testing.T) {
	t.Parallel()
	c, a, b := begin(t, 3)
	l := openLog(t, c.Connect())
	sent := trimmed(t, l, 1, a, 0)
	third := newNode(t, "c", c.URL()).start()
	same(t, a, b, third)
	third.move(sent, sent+10)
	same(t, a, b, third)
	if !third.loaded(1) {
		t.Error("the new node has loaded no snapshot")
	}
	third.stop()
	third.start() // from its own state
	same(t, a, b, third)
	if !third.loaded(0) {
		t.Error("a node that is not behind loads a snapshot")
	}
	third.kill()
	bounds, err := l.Bounds(t.Context())
	ok(t, err)
	sent = trimmed(t, l, bounds.Last+1, a, sent+10)
	third.start()
	third.move(sent, sent+10)
	same(t, a, b, third)
	if !third.loaded(1) {
		t.Error("the node that is behind has loaded no snapshot")
	}
}

// A node without a link to the servers is behind once the log is trimmed: it goes on from a
// snapshot, in the same process.
func TestBehindTheLog(t *testing.T) {
	t.Parallel()
	c, a, b := begin(t, 1)
	l := openLog(t, c.Connect())
	way := newLink(t, c.URL())
	third := newNode(t, "c", way.URL()).start()
	same(t, a, b, third)
	before := 0
	if third.loaded(1) {
		before = 1
	}
	bounds, err := l.Bounds(t.Context())
	ok(t, err)
	way.set(true)
	sent := trimmed(t, l, bounds.Last+1, a, 0)
	way.set(false)
	third.move(sent, sent+10)
	same(t, a, b, third)
	if !third.loaded(before + 1) {
		t.Error("the node that was behind has loaded no snapshot")
	}
}

// loaded reports whether the process has loaded so many snapshots.
func (n *node) loaded(count int) bool {
	return strings.Count(n.log.String(), "the log goes on from there") == count
}

// putNoise puts sets of 4 MiB each that no vehicle is near.
func (n *node) putNoise(sets int) {
	n.t.Helper()
	noise := rand.NewChaCha8([32]byte{})
	for i := range sets {
		block := make([]byte, 2<<20)
		_, _ = noise.Read(block) // never fails
		far := strings.NewReplacer("0,0", "50,50", "0,1", "50,51", "1,0", "51,50", "1,1", "51,51").Replace(square)
		feature := strings.Replace(far, `"properties":{}`, fmt.Sprintf(`"properties":{"noise":"%x"}`, block), 1)
		n.do(http.MethodPut, fmt.Sprintf("v1/sets/large%d", i), feature)
	}
}

// A node that is killed while it loads a snapshot begins again. Nothing half is left.
func TestKilledWhileLoading(t *testing.T) {
	t.Parallel()
	c, a, b := begin(t, 1)
	a.putNoise(8)
	l := openLog(t, c.Connect())
	trimmed(t, l, 10, a, 0)
	third := newNode(t, "c", c.URL())
	middle := 0
	for range 8 {
		third.start()
		for begun := false; !begun; {
			select {
			case <-t.Context().Done():
				t.Fatal("the node loads nothing")
			case <-time.After(time.Millisecond):
			}
			unfinished, _ := filepath.Glob(filepath.Join(third.dir, "unfinished-*", "journal", "*"))
			begun = len(unfinished) > 0 || strings.Contains(third.log.String(), "the log goes on from there")
		}
		third.kill()
		if left, _ := filepath.Glob(filepath.Join(third.dir, "unfinished-*")); len(left) > 0 {
			middle++
		}
	}
	if middle == 0 {
		t.Error("the node was never killed in the middle")
	}
	third.start()
	same(t, a, b, third)
	if left, _ := filepath.Glob(filepath.Join(third.dir, "unfinished-*")); len(left) > 1 { // one may be under way
		t.Errorf("%q are left", left)
	}
	third.stop()
	entries, err := os.ReadDir(third.dir)
	ok(t, err)
	for _, e := range entries {
		if e.Name() != "journal" && e.Name() != "secrets" {
			t.Errorf("%s is left", e.Name())
		}
	}
}
