package plainhttp

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clock has the time, read once a second.
type clock struct{ now atomic.Pointer[moment] }

// moment is a time, and how the head of an answer ends then.
type moment struct {
	time.Time
	end  []byte // Date and the empty line
	last []byte // the same of the last answer on a connection
}

func momentOf(now time.Time) *moment {
	date := string(now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat)) + "\r\n"
	return &moment{now, []byte(date + "\r\n"), []byte(date + "Connection: close\r\n\r\n")}
}

func (c *clock) set(now time.Time) { c.now.Store(momentOf(now)) }

// run keeps the time until stop is closed.
func (c *clock) run(stop <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			c.set(now)
		case <-stop:
			return
		}
	}
}
