package bus

import (
	"sync"
	"time"
)

// rateWindow is for how long handshakes are counted.
const rateWindow = time.Second

// throttle bounds how many handshakes of TLS begin in a second.
type throttle struct {
	mu    sync.Mutex // guards what follows
	until time.Time  // the end of the window
	begun int        // in the window
}

// allow counts one more in the present second, if there are fewer than rate; 0 =
// any number.
func (h *throttle) allow(rate int) bool {
	if rate == 0 {
		return true
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !now.Before(h.until) {
		h.until, h.begun = now.Add(rateWindow), 0
	}
	h.begun++
	return h.begun <= rate
}
