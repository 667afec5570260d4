package bridge

import "github.com/prometheus/client_golang/prometheus"

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_bus_bridge_"+name, help, append([]string{"bridge"}, labels...), nil)
}

var (
	connectedDesc = describe("connected", "1 if the bridge's other server is connected, else 0.")
	connectsDesc  = describe("connects_total", "Connections of the bridge that were made.")
	waitingDesc   = describe("waiting_bytes", "Bytes that wait for the bridge's other server.")
	messagesDesc  = describe("messages_total", "Messages that came from the bridge's other server (in) and went there (out).", "direction")
	bytesDesc     = describe("bytes_total", "Bytes of these messages: payload with header.", "direction")
	droppedDesc   = describe("dropped_total", "Messages that the bridge dropped, by reason.", "direction", "reason")
)

// Describe implements [prometheus.Collector].
func (s *Set) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectedDesc, connectsDesc, waitingDesc, messagesDesc, bytesDesc, droppedDesc} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector]. The number of series depends on that of bridges alone.
func (s *Set) Collect(ch chan<- prometheus.Metric) {
	for _, st := range s.States() {
		send := func(d *prometheus.Desc, typ prometheus.ValueType, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, typ, v, append([]string{st.Name}, labels...)...)
		}
		connected := 0.0
		if st.Connected {
			connected = 1
		}
		send(connectedDesc, prometheus.GaugeValue, connected)
		send(connectsDesc, prometheus.CounterValue, float64(st.Connects))
		send(waitingDesc, prometheus.GaugeValue, float64(st.Waiting))
		for w, t := range []*Traffic{in: &st.In, out: &st.Out} {
			send(messagesDesc, prometheus.CounterValue, float64(t.Messages), wayNames[w])
			send(bytesDesc, prometheus.CounterValue, float64(t.Bytes), wayNames[w])
			t.Drops(func(why Reason, n uint64) {
				send(droppedDesc, prometheus.CounterValue, float64(n), wayNames[w], why.String())
			})
		}
	}
}
