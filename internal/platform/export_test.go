package platform

import (
	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/journal"
)

// Registry returns the metrics of the process.
func (p *Platform) Registry() *prometheus.Registry { return p.registry }

// OpenJournal replaces journal.Open.
func (o *Options) OpenJournal(open func(journal.Options) (*journal.Disk, error)) {
	o.openJournal = open
}

// Deliver replaces the schedule of webhooks.
func (o *Options) Deliver(schedule *deliver.Schedule) { o.schedule = schedule }
