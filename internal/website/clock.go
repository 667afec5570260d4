package website

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clock has the time for the short way, read once a second.
type clock struct{ now atomic.Pointer[moment] }

// moment is a time and how the header of an answer that ends with it ends.
type moment struct {
	time.Time
	end []byte // Date and the empty line
}

func (c *clock) set(now time.Time) {
	date := now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat)
	c.now.Store(&moment{now, append(date, "\r\n\r\n"...)})
}

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
