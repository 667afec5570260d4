// Package metrics makes the process's Prometheus registry. Services register their own collectors
// with it. The library's global registry is not used, so two platforms in one test do not share
// their counts.
package metrics

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"paddock/internal/process/version"
)

// Namespace is the first word of every metric's name: paddock_...
const Namespace = "paddock"

// maxScrapes bounds the concurrent scrapes; further ones get 503.
const maxScrapes = 4

// New returns a registry with the metrics of the Go runtime, the process and the build.
func New() *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := version.Get()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: Namespace,
			Name:      "build_info",
			Help:      "Always 1; the labels say which build is running.",
			ConstLabels: prometheus.Labels{
				"version": build.Version, "revision": build.Revision, "go_version": build.Go,
			},
		}, func() float64 { return 1 }),
	)
	return r
}

// Handler serves the registry in the format that the scraper requests. A collector that fails loses
// only its own metrics; the failure is counted and logged.
func Handler(r *prometheus.Registry, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		Registry:            r,
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
