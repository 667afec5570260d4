package platform

import "github.com/prometheus/client_golang/prometheus"

// Registry returns the metrics of the process.
func (p *Platform) Registry() *prometheus.Registry { return p.registry }
