package platform

import (
	"io"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/platform/cluster"
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

// WebSocketAddr returns the address of the bus for web pages.
func (p *Platform) WebSocketAddr() net.Addr { return p.bus.WebSocketAddr() }

// MonitorURL returns the address of the bus's monitoring.
func (p *Platform) MonitorURL() string { return p.monitor.URL() }

// RemoveOld removes old events and positions, as is done each minute.
func (p *Platform) RemoveOld() { p.removeOld() }

// NodeOf makes the data directory of a node of a backup.
func NodeOf(backup io.Reader, dir string) error {
	if err := unpack(backup, dir, func(*journal.Disk) error { return nil }); err != nil {
		return err
	}
	return change(dir, func(j *journal.Disk) error { return attach(j, "log", cluster.Place{Sequence: 1}) })
}
