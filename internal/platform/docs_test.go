package platform_test

import (
	"net/http"
	"strings"
	"testing"

	"paddock/internal/process/config"
)

// A running platform has the documents, whose links stay below their path.
func TestDocuments(t *testing.T) {
	r := start(t, config.Default(), square(t))
	if got := r.text("docs/guides/alerts.md"); !strings.Contains(got, `href="./../guides/webhooks.md"`) || !strings.Contains(got, "PaddockDown") {
		t.Errorf("%.500s", got)
	}
	if got := r.text("docs/search?q=traceparent"); !strings.Contains(got, "<mark>traceparent</mark>") {
		t.Errorf("%.500s", got)
	}
	for path, want := range map[string]int{"docs": http.StatusOK, "docs/": http.StatusOK, "docs/guides/": http.StatusNotFound, "docs/../v1/sets": http.StatusOK} {
		if status, _, err := r.call(http.MethodGet, path, "", nil); err != nil || status != want {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
}
