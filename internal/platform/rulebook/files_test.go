package rulebook

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/fence/track"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "rules.yaml", "rules:\n  - {id: a, set: parks, objects: bus-*}\n")
	write(t, dir, "My_Parks.policy.yaml", "preset: steady\nmetres: 12.5\n")
	write(t, dir, "parks.geojson", "no file of rules")
	f, err := ReadFiles(dir)
	if err != nil || len(f.Rules) != 1 || f.Rules[0].ID != "a" || f.RulesFile != "rules.yaml" || f.Names["my-parks"] != "My_Parks.policy.yaml" {
		t.Fatalf("%+v, %v", f, err)
	}
	if p := f.Policies["my-parks"]; p.Metres != 12.5 || p.Fixes != 3 {
		t.Errorf("%+v", p)
	}
	for name, c := range map[string]struct{ text, want string }{
		"rules.yaml":           {"rules:\n  - {id: a, set: parks, object: x}\n", "rules.yaml:2:"},
		"x.policy.yaml":        {"metre: 5\n", `x.policy.yaml:1:8: unknown field "metre"`},
		"y.policy.yaml":        {"metres: 5\npreset: raw\n", "y.policy.yaml:2:9: preset comes first"},
		"z.policy.yaml":        {"- 5\n", "z.policy.yaml:1:1"},
		"_.policy.yaml":        {"", "neither letter"},
		"my parks.policy.yaml": {"", "the set my-parks has the policy of"},
	} {
		other := t.TempDir()
		write(t, other, "My_Parks.policy.yaml", "")
		write(t, other, name, c.text)
		if _, err := ReadFiles(other); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Changed files are read once they are still, and bad ones change nothing.
func TestFollower(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	f := &Follower{Book: New(track.Policy{}), Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx, true) }()
	await := func(rules int) {
		t.Helper()
		for begun := time.Now(); f.Book.State().Rules().Len() != rules; {
			if time.Since(begun) > 30*time.Second {
				t.Fatalf("%d rules, want %d", f.Book.State().Rules().Len(), rules)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	write(t, dir, "rules.yaml", "rules:\n  - {id: a, set: s}\n")
	await(1)
	write(t, dir, "rules.yaml", "rules:\n  - {id: a, set: s}\n  - {id: b}\n")
	f.Reload()
	f.Reload()
	await(1)
	write(t, dir, "rules.yaml", "rules:\n  - {id: a, set: s}\n  - {id: b, set: s}\n")
	f.Reload()
	await(2)
	if err := os.Remove(filepath.Join(dir, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	await(0)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := log.String(); strings.Count(got, "refused") != 1 || !strings.Contains(got, "rules.yaml:3:") {
		t.Error(got)
	}
}
