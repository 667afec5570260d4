package origins

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"paddock/lab/internal/documents"
)

var update = flag.Bool("update", false, "rewrite docs/reference/origins.md")

// The published page is that of the published report, which has all rows, each at the document's
// figure or with the reason why it is not.
func TestPublished(t *testing.T) {
	text, err := os.ReadFile("../../../docs/results/origins.json")
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Scale != 1 || slices.ContainsFunc(r.Rows, func(one *Result) bool { return !one.bind() }) || len(r.Rows) != len(documents.Rows()) {
		t.Fatalf("%d rows at scale %v, of which some are unknown", len(r.Rows), r.Scale)
	}
	for _, one := range r.Rows {
		if one.State != Measured || one.OverDocument == nil {
			t.Errorf("%s is %s, %s", one.ID, one.State, one.Error)
		}
	}
	for _, one := range r.Below() {
		if one.Reason() == "" {
			t.Errorf("%s is %s of the document, and nothing says why", one.ID, one.ByDocument())
		}
	}
	var page strings.Builder
	if err := r.WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	const file = "../../../docs/reference/origins.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != page.String() {
		t.Errorf("%s is not the report's page, make origins-page writes it: %v", file, err)
	}
}
