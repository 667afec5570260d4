package cli

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The simulated city has boroughs for the kinds that group fences by areas.
func TestFenceSubjectParents(t *testing.T) {
	s, err := newFenceSubject("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	}()
	file, err := os.ReadFile(s.parentsOr(""))
	if err != nil || !strings.Contains(string(file), `"Old Town"`) {
		t.Errorf("%v: %.200s", err, file)
	}
	if got := s.parentsOr("FILE"); got != "FILE" {
		t.Errorf("%q", got)
	}
}
