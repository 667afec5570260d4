package tiles

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"paddock/fence"
)

const (
	// cacheBytes bounds the cached tiles, compressed: a few thousand screens.
	cacheBytes = 32 << 20
	// perEntry is the approximate size of an entry without its bytes.
	perEntry = 256
	// patience bounds the time of a tile, including the wait for other tiles.
	patience = 10 * time.Second
)

// Cache draws tiles and keeps the most recently used. It keeps the boxes of each set for the state
// whose tiles were last asked for. It is safe for concurrent use.
type Cache struct {
	makers chan struct{} // a slot for each tile in progress: half of the processors

	mu      sync.Mutex
	entries map[key]*list.Element
	recent  list.List // of *entry, the most recently used in front
	bytes   int
	sets    map[weak.Pointer[fence.Set]]*indexed

	made, reused, late atomic.Uint64
}

// key names a tile of one state of one set.
type key struct {
	state string
	tile  Tile
}

type entry struct {
	key  key
	data []byte
}

// indexed holds a set's boxes in the last requested state.
type indexed struct {
	mu    sync.Mutex
	state string
	boxes *Boxes
}

// Stats holds the counts of a cache.
type Stats struct {
	Bytes        int    // of the cached tiles
	Made, Reused uint64 // tiles
	Late         uint64 // tiles that took too long
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		makers:  make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		entries: map[key]*list.Element{},
		sets:    map[weak.Pointer[fence.Set]]*indexed{},
	}
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Bytes: c.bytes, Made: c.made.Load(), Reused: c.reused.Load(), Late: c.late.Load()}
}

// Get returns a tile of the set in the state s, compressed with gzip. The tile must not be changed.
// state is a name that no other state of this or another set has. The error is that of ctx, or
// context.DeadlineExceeded if the tile took longer than ten seconds.
func (c *Cache) Get(ctx context.Context, set *fence.Set, s *fence.Snapshot, state string, t Tile) ([]byte, error) {
	k := key{state, t}
	if data, ok := c.find(k); ok {
		return data, nil
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, err := c.make(limited, set, s, k)
	if err != nil && ctx.Err() == nil {
		c.late.Add(1)
	}
	return data, err
}

func (c *Cache) find(k key) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	c.reused.Add(1)
	return e.Value.(*entry).data, true
}

// make draws a tile, unless another request has drawn it during the wait.
func (c *Cache) make(ctx context.Context, set *fence.Set, s *fence.Snapshot, k key) ([]byte, error) {
	select {
	case c.makers <- struct{}{}:
		defer func() { <-c.makers }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if data, ok := c.find(k); ok {
		return data, nil
	}
	raw, err := Draw(ctx, s, c.boxes(set, s, k.state), k.tile)
	if err != nil {
		return nil, err
	}
	data := compress(raw)
	c.made.Add(1)
	c.keep(&entry{k, data})
	return data, nil
}

func compress(raw []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(raw)                             // a buffer takes everything
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// keep adds a tile, and evicts the least recently used.
func (c *Cache) keep(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.key] != nil {
		return
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.bytes += len(e.data) + perEntry
	for c.bytes > cacheBytes {
		old := c.recent.Remove(c.recent.Back()).(*entry)
		delete(c.entries, old.key)
		c.bytes -= len(old.data) + perEntry
	}
}

// boxes returns the set's boxes in that state. The first request for a state builds them.
func (c *Cache) boxes(set *fence.Set, s *fence.Snapshot, state string) *Boxes {
	x := c.indexed(set)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.boxes == nil || x.state != state {
		x.boxes, x.state = NewBoxes(s), state
	}
	return x.boxes
}

func (c *Cache) indexed(set *fence.Set) *indexed {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.sets[weak.Make(set)]
	if !ok {
		for p := range c.sets { // of deleted sets
			if p.Value() == nil {
				delete(c.sets, p)
			}
		}
		x = new(indexed)
		c.sets[weak.Make(set)] = x
	}
	return x
}
