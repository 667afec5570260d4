package source

import "github.com/prometheus/client_golang/prometheus"

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_source_"+name, help, []string{"source"}, nil)
}

var (
	connected = describe("connected", "1 while a source is connected, or its last answer was good.")
	connects  = describe("connects_total", "Connections that a source has made, the first and the later ones; answers of a feed.")
	messages  = describe("messages_total", "Messages, lines and new answers that a source has read.")
	dropped   = describe("dropped_total", "Messages that a source could not keep, because the platform was slower: MQTT messages of QoS 0, lines over UDP.")
	failures  = describe("failures_total", "Attempts and connections of a source that failed.")
)

// Describe implements prometheus.Collector.
func (s *Sources) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connected, connects, messages, dropped, failures} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Sources) Collect(to chan<- prometheus.Metric) {
	for _, one := range s.all() {
		up := 0.0
		if one.connected.Load() {
			up = 1
		}
		for _, m := range []struct {
			desc *prometheus.Desc
			kind prometheus.ValueType
			v    float64
		}{
			{connected, prometheus.GaugeValue, up},
			{connects, prometheus.CounterValue, float64(one.connects.Load())},
			{messages, prometheus.CounterValue, float64(one.messages.Load())},
			{dropped, prometheus.CounterValue, float64(one.dropped.Load())},
			{failures, prometheus.CounterValue, float64(one.failures.Load())},
		} {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.v, one.settings.Name)
		}
	}
}
