package website

import (
	"container/list"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// DefaultCacheBytes is the default memory for pages.
	DefaultCacheBytes = 64 << 20
	// maxInMemory is the size above which a file stays on disk, and is sent with sendfile.
	maxInMemory = 1 << 20
	// maxFast is the size above which the fast path leaves a file to net/http. The fast path
	// copies the answer into one buffer, which costs more than it saves for larger files.
	maxFast = 64 << 10
	// pageBytes is the cost of a page in the cache, besides its contents and names.
	pageBytes = 2 << 10
	// checkEvery is the interval at which a page is compared with its files.
	checkEvery = time.Second
)

// cache holds pages by path and evicts the least recently used. A page counts as used when it is
// compared with its files, once a second, so a look-up changes nothing and takes only a read lock.
type cache struct {
	limit int64

	mu    sync.RWMutex
	pages map[string]*list.Element // of *page
	order list.List                // front: used last
	bytes int64

	evicted, changed atomic.Uint64
}

// get returns the page of a path, or nil.
func (c *cache) get(path []byte) *page {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.pages[string(path)]; e != nil {
		return e.Value.(*page)
	}
	return nil
}

// put adds a page, and evicts others until all fit.
func (c *cache) put(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.pages[p.path]; e != nil {
		c.remove(e)
	}
	c.pages[p.path] = c.order.PushFront(p)
	c.bytes += p.bytes
	for c.bytes > c.limit {
		c.remove(c.order.Back())
		c.evicted.Add(1)
	}
}

// drop removes a page whose files have changed.
func (c *cache) drop(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.pages[p.path]; e != nil && e.Value == p {
		c.remove(e)
		c.changed.Add(1)
	}
}

// use marks a page as used.
func (c *cache) use(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.pages[p.path]; e != nil {
		c.order.MoveToFront(e)
	}
}

// remove requires mu.
func (c *cache) remove(e *list.Element) {
	p := c.order.Remove(e).(*page)
	delete(c.pages, p.path)
	c.bytes -= p.bytes
}

// size returns the number of pages and their bytes.
func (c *cache) size() (pages int, bytes int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.pages), c.bytes
}

// page returns the page of a path: from memory if it is there and its files are unchanged, else
// from the directory. now may be a second late.
func (s *Site) page(path string, now time.Time) (*page, error) {
	name, dir, ok := nameOf(path, s.options.Dotfiles)
	if !ok {
		return nil, fs.ErrNotExist
	}
	key := []byte(urlPath(name, dir))
	if p := s.cache.get(key); p != nil && s.current(p, now) {
		return p, nil
	}
	s.loads <- struct{}{}
	defer func() { <-s.loads }()
	if p := s.cache.get(key); p != nil && s.current(p, now) { // another request was faster
		return p, nil
	}
	s.missed.Add(1)
	p, err := s.find(name, dir)
	if err == nil && p.inMemory {
		s.cache.put(p)
	}
	return p, err
}

// current reports whether a page may be served. Once a second one of its requests compares it with
// its files, while the others serve it.
func (s *Site) current(p *page, now time.Time) bool {
	checked := p.checked.Load()
	if now.UnixNano()-checked < int64(checkEvery) || !p.checked.CompareAndSwap(checked, now.UnixNano()) {
		return true
	}
	if !s.unchanged(p) {
		s.cache.drop(p)
		return false
	}
	s.cache.use(p)
	return true
}
