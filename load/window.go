package load

import "time"

// Window is how many answers came to one thread in a tenth of a second. One in which none
// came goes on into the next.
type Window struct {
	Length time.Duration
	Done   int64
}

// window is the one that a thread is in.
type window struct {
	began int64 // ns
	from  int64 // answers of the interval that is recorded that came before it
	past  int64 // its answers that are in earlier intervals
}

// close ends the window, if there were answers in it, and begins the next.
func (w *window) close(v *Interval, now int64) {
	done := w.past + v.Done - w.from
	if done == 0 {
		return
	}
	v.Windows = append(v.Windows, Window{time.Duration(now - w.began), done})
	*w = window{began: now, from: v.Done}
}

// keep counts what the interval that is over has of the window.
func (w *window) keep(v *Interval) {
	w.past += v.Done - w.from
	w.from = 0
}
