package results

import (
	"strings"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{4, 1, 9}, Spread{4, 1, 9}},
		{[]float64{4, 1, 9, 2}, Spread{3, 1, 9}},
	} {
		if got := NewSpread(tc.values); got != tc.want {
			t.Errorf("%v: %+v, want %+v", tc.values, got, tc.want)
		}
	}
	if got := Within([]float64{2, 9, 8}, []float64{1, 3, 2, 5}); got != (Spread{3, 2, 4}) {
		t.Errorf("%+v", got)
	}
}

// The head of a file names the machine and the command.
func TestHead(t *testing.T) {
	h := NewHead(3, 2*time.Second, time.Second)
	if h.Machine.Cores < 1 || h.Machine.Go == "" || len(h.Command) == 0 || h.Command[0] != "paddock" || h.Date.IsZero() {
		t.Errorf("%+v", h)
	}
	var text strings.Builder
	if err := Write(&text, h); err != nil || !strings.Contains(text.String(), "\"duration\": \"2s\",\n  \"warmup\": \"1s\",\n  \"ratios\": []") {
		t.Errorf("%v: %s", err, &text)
	}
}

func TestTimes(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i)*time.Microsecond)
	}
	if got := *NewTimes(times); got != (Times{100, 51, 100}) {
		t.Errorf("%+v", got)
	}
	if got := *NewTimes(nil); got != (Times{}) {
		t.Errorf("%+v", got)
	}
}
