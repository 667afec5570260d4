package load

import "time"

// The bounds of a spinWindow, and how it moves.
const (
	firstSpin = int64(60 * time.Microsecond)
	minSpin   = int64(10 * time.Microsecond)
	// maxSpin bounds the processor time that a request may cost to be on time. A longer delay has
	// another cause, which spinning does not cure.
	maxSpin = int64(150 * time.Microsecond)
	// A window that shrinks by this with each request, and grows by so many times as
	// much with a wake-up behind its request, is left by one wake-up in as many.
	spinShrink = int64(250 * time.Nanosecond)
	spinGrow   = 16 * spinShrink
)

// spinWindow is for how long before a request is due a hybrid pace does not sleep: as long
// as the machine takes to wake the thread, but for one time in 16. It is learned, since one
// machine takes 5 us and another, or the same one an hour later, 100. Where requests come
// closer than that, nothing sleeps and nothing is learned, but the window shrinks until
// something does.
type spinWindow struct {
	ns     int64
	number int64 // the number of the request for which it has shrunk last
}

func newSpinWindow() spinWindow { return spinWindow{firstSpin, -1} }

// turn says that the thread turns until the request of a number is due.
func (w *spinWindow) turn(number int64) {
	if number != w.number {
		w.number = number
		w.ns = max(w.ns-spinShrink, minSpin)
	}
}

// woken says that the thread was woken so many ns later than asked.
func (w *spinWindow) woken(late int64) {
	if late > w.ns && late <= maxSpin {
		w.ns = min(w.ns+spinGrow, maxSpin)
	}
}
