package monitor

import (
	"math"
	"sync"
	"time"
)

// usageWindow is the shortest time over which CPU use is averaged: who asks more
// often gets the last answer.
const usageWindow = time.Second

// processUsage measures what the process takes, between readings.
type processUsage struct {
	mu    sync.Mutex
	since time.Time
	spent time.Duration // CPU time until since
	cpu   float64
}

func (u *processUsage) start() { u.since, u.spent = time.Now(), cpuTime() }

// read returns percents of one core and resident bytes.
func (u *processUsage) read(now time.Time) (cpu float64, mem int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if window := now.Sub(u.since); window >= usageWindow {
		spent := cpuTime()
		u.cpu = math.Round(1000*(spent-u.spent).Seconds()/window.Seconds()) / 10
		u.since, u.spent = now, spent
	}
	return u.cpu, resident()
}
