package logging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		level, format string
		want          Options
		wantErr       string
	}{
		{"", "", Options{slog.LevelInfo, Auto}, ""},
		{"DEBUG", "JSON", Options{slog.LevelDebug, JSON}, ""},
		{"warn", "text", Options{slog.LevelWarn, Text}, ""},
		{"error", "auto", Options{slog.LevelError, Auto}, ""},
		{"loud", "", Options{}, `no log level is called "loud"; levels are debug, info, warn, error`},
		{"", "xml", Options{}, `no log format is called "xml"; formats are auto, text, json`},
	} {
		got, err := Parse(tc.level, tc.format)
		if text := errText(err); got != tc.want || text != tc.wantErr {
			t.Errorf("Parse(%q, %q) = %v, %q; want %v, %q", tc.level, tc.format, got, text, tc.want, tc.wantErr)
		}
	}
}

func TestListsAreWhatParses(t *testing.T) {
	for _, l := range Levels() {
		if _, err := ParseLevel(l); err != nil {
			t.Errorf("listed level: %v", err)
		}
	}
	for _, f := range Formats() {
		if _, err := ParseFormat(f); err != nil {
			t.Errorf("listed format: %v", err)
		}
	}
}

func TestFormats(t *testing.T) {
	record := func(o Options) string {
		var b bytes.Buffer
		log := New(&b, o)
		log.Debug("hidden")
		log.Info("served", "took", 1500*time.Microsecond)
		return b.String()
	}

	var line struct{ Time, Level, Msg, Took string }
	if err := json.Unmarshal([]byte(record(Options{})), &line); err != nil {
		t.Fatalf("the default on a pipe is one JSON object: %v", err)
	}
	if line.Msg != "served" || line.Took != "1.5ms" || line.Level != "INFO" {
		t.Errorf("got %+v", line)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", line.Time); err != nil {
		t.Errorf("time: %v", err)
	}
	if got := record(Options{Format: Text}); !strings.Contains(got, "level=INFO msg=served took=1.5ms") {
		t.Errorf("text format: %q", got)
	}
	if got := record(Options{Level: slog.LevelWarn}); got != "" {
		t.Errorf("below the level: %q", got)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(new(bytes.Buffer)) {
		t.Error("a file and a buffer are not terminals")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
