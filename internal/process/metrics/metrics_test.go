package metrics

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func scrape(t *testing.T, r *prometheus.Registry) string {
	t.Helper()
	rec := httptest.NewRecorder()
	Handler(r, slog.New(slog.DiscardHandler)).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(rec.Result().Body)
	if err != nil || rec.Code != http.StatusOK {
		t.Fatalf("status %d, %v", rec.Code, err)
	}
	return string(body)
}

func TestScrape(t *testing.T) {
	r := New()
	r.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: Namespace, Name: "objects"}, func() float64 { return 7 },
	))
	text := scrape(t, r)
	for _, want := range []string{"\npaddock_objects 7\n", "\ngo_goroutines ", "\nprocess_open_fds ", "paddock_build_info{go_version=\"go1."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the scrape", want)
		}
	}
}

type broken struct{ desc *prometheus.Desc }

func (b broken) Describe(c chan<- *prometheus.Desc) { c <- b.desc }
func (b broken) Collect(c chan<- prometheus.Metric) {
	c <- prometheus.NewInvalidMetric(b.desc, errors.New("no figure today"))
}

func TestABrokenCollectorCostsOnlyItsOwnFigures(t *testing.T) {
	r := New()
	r.MustRegister(broken{prometheus.NewDesc("paddock_broken", "Broken.", nil, nil)})
	text := scrape(t, r)
	if strings.Contains(text, "paddock_broken ") || !strings.Contains(text, "paddock_build_info") {
		t.Errorf("got\n%s", text)
	}
}

func TestRegistriesAreApart(t *testing.T) {
	a, b := New(), New()
	a.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "paddock_x_total"}))
	if strings.Contains(scrape(t, b), "paddock_x_total") {
		t.Error("a counter of one registry shows in another")
	}
}
