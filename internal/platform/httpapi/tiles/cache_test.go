package tiles

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"paddock/fence"
)

func get(t *testing.T, c *Cache, s *fence.Set, state string, tile Tile) decoded {
	t.Helper()
	data, err := c.Get(t.Context(), s, s.Snapshot(), state, tile)
	must(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	raw, err := io.ReadAll(z)
	must(t, err)
	return decode(t, raw)
}

func TestCache(t *testing.T) {
	s, err := fence.NewSet("s", fence.Options{})
	must(t, err)
	c := NewCache()
	_, _, err = s.Put(box("a", 0, 0, 50, 50))
	must(t, err)
	for range 3 {
		if d := get(t, c, s, "1", Tile{}); len(d["fences"]) != 1 {
			t.Errorf("got %v", d)
		}
	}
	if st := c.Stats(); st.Made != 1 || st.Reused != 2 || st.Bytes == 0 {
		t.Errorf("%+v", st)
	}
	_, _, err = s.Put(box("b", 60, 0, 90, 50))
	must(t, err)
	if d := get(t, c, s, "2", Tile{}); len(d["fences"]) != 2 {
		t.Errorf("after a change: %v", d)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, s, s.Snapshot(), "2", Tile{Z: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	c := NewCache()
	for i := range 100 {
		c.keep(&entry{key{fmt.Sprint(i), Tile{}}, make([]byte, 1<<20)})
		c.find(key{"0", Tile{}})
	}
	_, first := c.find(key{"0", Tile{}})
	_, second := c.find(key{"1", Tile{}})
	_, last := c.find(key{"99", Tile{}})
	if !first || second || !last {
		t.Errorf("kept: the one in use %v, an old one %v, the last one %v", first, second, last)
	}
	if n := c.Stats().Bytes; n > cacheBytes || len(c.entries) != c.recent.Len() {
		t.Errorf("%d bytes, %d entries, %d in order", n, len(c.entries), c.recent.Len())
	}
}

func TestTheBoxesGoWithTheirSet(t *testing.T) {
	c := NewCache()
	for range 10 {
		s, err := fence.NewSet("s", fence.Options{})
		must(t, err)
		get(t, c, s, "", Tile{})
		runtime.GC()
	}
	if n := len(c.sets); n > 3 {
		t.Errorf("boxes of %d sets are kept", n)
	}
}
