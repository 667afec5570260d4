package wrk

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"paddock/lab/responder"
)

// dumped parses the script's output of one statistic.
func dumped(t *testing.T, text, name string) *Stats {
	t.Helper()
	s, sum, mean := &Stats{}, 0.0, -1.0
	var least, most int64
	for line := range strings.Lines(text) {
		var value int64
		var count uint64
		switch {
		case !strings.HasPrefix(line, name):
		case mean < 0:
			if _, err := fmt.Sscanf(line, name+" %g %d %d", &mean, &least, &most); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		default:
			if _, err := fmt.Sscanf(line, name+" %d %d", &value, &count); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			s.Record(value, count)
			sum += float64(value) * float64(count)
		}
	}
	if s.Min() != least || s.Max() != most || s.Count() == 0 {
		t.Fatalf("%s: from %d to %d, and it has %d to %d", name, s.Min(), s.Max(), least, most)
	}
	// Values that the correction has added below the least one are counted, and not listed.
	s.count = uint64(math.Round(sum / mean))
	return s
}

// Of the numbers that wrk has counted and corrected, our statistics are its rows, to the
// digit.
func TestRowsOfTheOriginal(t *testing.T) {
	path, err := exec.LookPath("wrk")
	if err != nil {
		t.Skip("wrk is not here")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("its long double is another one")
	}
	law, err := responder.Parse("drawn 0=100us 0.9=2ms 0.99=20ms 1=150ms", 1)
	if err != nil {
		t.Fatal(err)
	}
	service, err := responder.Serve(responder.Config{Law: law})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	cmd := exec.CommandContext(t.Context(), path, "-t2", "-c8", "-d1", "--latency", "-s", "testdata/dump.lua", "http://"+service.Addr+"/")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	text := string(out)
	if err != nil || !strings.Contains(text, "\nsummary") {
		t.Fatalf("%v: %s%s", err, text, log.String())
	}
	var ran, requests, bytes int64
	block, dump, _ := strings.Cut(text, "summary")
	if _, err := fmt.Sscan(dump, &ran, &requests, &bytes); err != nil {
		t.Fatal(err)
	}
	latency, perSecond := dumped(t, dump, "latency"), dumped(t, dump, "requests")
	for _, want := range []string{
		rowOf(latencyName, latency, formatMicroseconds), rowOf(rateName, perSecond, formatMetric),
		distribution(latency),
		fmt.Sprintf("  %d requests in %s, %sB read\n", requests, formatMicroseconds(extended(float64(ran))), formatBinary(float64(bytes))),
	} {
		if !strings.Contains(block, want) {
			t.Errorf("ours is\n%swrk has\n%s", want, block)
		}
	}
}
