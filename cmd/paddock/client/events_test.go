package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"paddock/internal/platform/events"
)

// TestListOfEventsEnds holds that events which come while a list is read do not prolong it without
// an end, and that a page which is short for its size is not the last one.
func TestListOfEventsEnds(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, c := range map[string]struct{ kept, padding int }{
		"small events": {3 * eventsPage / 2, 0},
		"large events": {3, events.PageBytes / 2},
	} {
		requests, told := 0, 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			if requests > 100 {
				http.Error(w, "asked without an end", http.StatusBadRequest)
				return
			}
			event := `{"type":"paddock.fence.enter"` + strings.Repeat(" ", c.padding) + "}\n"
			var page bytes.Buffer
			for n := 0; n < eventsPage && page.Len() < events.PageBytes && (told < c.kept || n == 0); n++ {
				told++
				page.WriteString(event)
			}
			w.Header().Set("Paddock-Cursor", fmt.Sprint(told))
			_, _ = w.Write(page.Bytes())
		}))
		defer s.Close()
		var out bytes.Buffer
		k := &eventsLsCmd{remote: remote{Server: s.URL}, eventFilter: eventFilter{JSON: true}}
		if err := k.Run(t.Context(), &Console{Stdout: &out, Stderr: &out}); err != nil {
			t.Errorf("%s: after %d requests: %v", name, requests, err)
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines < c.kept || lines != told {
			t.Errorf("%s: %d events printed, of %d that were kept and %d that were sent", name, lines, c.kept, told)
		}
	}
}

// full is an output that takes nothing, as a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestGapOnFullDisk holds that a gap which cannot be printed ends the command.
func TestGapOnFullDisk(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests > 100 {
			http.Error(w, `{"detail":"asked without an end"}`, http.StatusBadRequest)
			return
		}
		http.Error(w, `{"detail":"not kept","oldest":"e-9"}`, http.StatusGone)
	}))
	defer s.Close()
	k := &eventsTailCmd{remote: remote{Server: s.URL}, eventFilter: eventFilter{JSON: true, FromCursor: "e-1"}}
	if err := k.Run(t.Context(), &Console{Stdout: full{}, Stderr: io.Discard}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("after %d requests: %v", requests, err)
	}
}
