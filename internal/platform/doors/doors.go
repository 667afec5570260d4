package doors

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Doors holds all doors of a process, by their names. It is a prometheus.Collector. The zero value
// is ready for use, and a nil Doors opens nil doors.
type Doors struct {
	mu   sync.Mutex
	list []*Door
}

// Open returns the door of a name, which it makes if there is none.
func (s *Doors) Open(name string) *Door {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.list {
		if d.name == name {
			return d
		}
	}
	d := &Door{name: name}
	s.list = append(s.list, d)
	return d
}

// OpenSource is Open for a source, which has a state of its own that encodes as JSON.
func (s *Doors) OpenSource(name string, state func() any) *Door {
	d := s.Open(name)
	if d != nil {
		d.mu.Lock()
		d.source = state
		d.mu.Unlock()
	}
	return d
}

// Remove takes a door off the list, with its counts.
func (s *Doors) Remove(name string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(d *Door) bool { return d.name == name })
}

// All returns the states of all doors, by their names.
func (s *Doors) All() []Status {
	all := []Status{}
	if s == nil {
		return all
	}
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, d := range list {
		all = append(all, d.Status())
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

var (
	positions = prometheus.NewDesc("paddock_door_positions_total",
		"Positions by the interface that took them, and what became of them: late ones are not newer than the last, outliers too far from it.", []string{"door", "result"}, nil)
	rejected = prometheus.NewDesc("paddock_door_rejected_total",
		"Positions and bodies that were not accepted, by interface and kind of reason. GET /v1/doors has the last ones.", []string{"door", "reason"}, nil)
	ignored = prometheus.NewDesc("paddock_door_ignored_total",
		"Messages that are no positions, by the interface that took them.", []string{"door"}, nil)
)

// Describe implements prometheus.Collector.
func (s *Doors) Describe(to chan<- *prometheus.Desc) {
	to <- positions
	to <- rejected
	to <- ignored
}

// Collect implements prometheus.Collector.
func (s *Doors) Collect(to chan<- prometheus.Metric) {
	for _, d := range s.All() {
		count := func(desc *prometheus.Desc, v uint64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v), append([]string{d.Name}, labels...)...)
		}
		count(positions, d.Accepted, "accepted")
		count(positions, d.Late, "late")
		count(positions, d.Outliers, "outlier")
		count(ignored, d.Ignored)
		for reason, n := range d.Reasons {
			count(rejected, n, reason)
		}
	}
}
