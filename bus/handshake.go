package bus

import (
	"errors"
	"runtime"
	"sync"
	"time"
)

// rateWindow is for how long handshakes are counted.
const rateWindow = time.Second

var (
	errStopping = errors.New("bus: stopping")
	errNoTurn   = errors.New("bus: too many handshakes at once")
)

// handshakes bounds what TLS handshakes take from everybody else. Each runs on the
// goroutine of its own connection, which routes nothing yet; but their arithmetic,
// a signature above all, keeps processors busy, and a storm of them would take all
// from those who route. So only half of the processors compute for handshakes at
// once. A turn lasts while a handshake computes, not while it waits for its peer,
// so that peers that say nothing keep nobody out.
type handshakes struct {
	turns chan struct{}

	mu    sync.Mutex // guards what follows
	until time.Time  // the end of the window
	begun int        // in the window
}

func (h *handshakes) init() {
	h.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
}

// begin waits for a turn until the deadline, or until stop is closed.
func (h *handshakes) begin(deadline time.Time, stop <-chan struct{}) error {
	select {
	case h.turns <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case h.turns <- struct{}{}:
		return nil
	case <-timer.C:
		return errNoTurn
	case <-stop:
		return errStopping
	}
}

func (h *handshakes) end() { <-h.turns }

// allow counts one more in the present second, if there are fewer than rate; 0 =
// any number.
func (h *handshakes) allow(rate int) bool {
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
