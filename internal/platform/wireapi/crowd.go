package wireapi

import (
	"context"
	"sync"
)

// crowd counts those who come and go, and tells when nobody is there.
type crowd struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // made by wait
}

func (c *crowd) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// wait waits until nobody is there. Only one goroutine may.
func (c *crowd) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	empty := make(chan struct{})
	c.empty = empty
	c.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
