package perf

import (
	"time"
)

// Floor is the performance of raw TCP between the same two processes in the same run, before and
// after it. No protocol over TCP can beat it by much.
type Floor struct {
	Echo  []FloorEcho `json:"echo"`
	Bulk  []FloorBulk `json:"bulk"`
	Write int         `json:"bulk_write_bytes"` // of one write of Bulk
}

// FloorEcho is one series of round trips, one at a time, with the run's payload.
type FloorEcho struct {
	Payload int           `json:"payload"` // bytes
	N       int64         `json:"n"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
}

// FloorBulk is one series of writes in one direction.
type FloorBulk struct {
	BytesPerSecond float64 `json:"bytes_per_second"`
}

// text prints the floor and how the run stands to it.
func (f *Floor) text(p *printer, r *Report) {
	if f == nil {
		return
	}
	for _, e := range f.Echo {
		p.f("floor: raw TCP echo of %d bytes: p50:%v p99:%v n:%d\n", e.Payload, e.P50, e.P99, e.N)
	}
	for _, b := range f.Bulk {
		p.f("floor: raw TCP writes of %d bytes: %.3f MB/s\n", f.Write, b.BytesPerSecond/1e6)
	}
	switch echo, bulk := f.echo(), f.bulk(); {
	case r.Do == Request && echo > 0:
		p.f("ratio: p50 is %.3f of the raw TCP echo's\n", float64(r.Latency.P50)/float64(echo))
	case r.Do != Request && r.Do != Verify && bulk > 0:
		p.f("ratio: payload is %.4f of the raw TCP writes'\n", r.Payloads/bulk)
	}
}

// echo is the mean p50 of the series before and after the run.
func (f *Floor) echo() time.Duration {
	var sum time.Duration
	for _, e := range f.Echo {
		sum += e.P50
	}
	return sum / time.Duration(max(len(f.Echo), 1))
}

// bulk is the mean rate of the series before and after the run.
func (f *Floor) bulk() float64 {
	var sum float64
	for _, b := range f.Bulk {
		sum += b.BytesPerSecond
	}
	return sum / float64(max(len(f.Bulk), 1))
}
