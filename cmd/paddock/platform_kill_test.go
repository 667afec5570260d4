package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/platform/faults/survival"
)

// platformKills is the number of kills where PADDOCK_PLATFORM_KILLS is not set.
const platformKills = 6

// TestPlatformIsKilled kills a platform at random moments, while positions come in by HTTP, the bus
// and wire, and fences, rules and policies are changed. Each time the next one knows every
// acknowledged position and edit, and a subscriber goes on with its cursor. In the end the
// subscriber has every event once, and a replay of the kept records gives the same events.
func TestPlatformIsKilled(t *testing.T) {
	t.Parallel()
	kills := platformKills
	if text := os.Getenv("PADDOCK_PLATFORM_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	within := 600 * time.Millisecond
	if os.Getenv("PADDOCK_CLUSTER_URL") != "" { // the platform is the node of a cluster, which takes over
		within = 4 * time.Second
	}
	seed := rand.Uint64()
	t.Logf("%d kills, seed %d", kills, seed)
	plan := killPlan{kills, rand.New(rand.NewPCG(seed, 0))}
	s, data := survival.New(), t.TempDir()
	s.Rules = true
	start := func() *upProcess {
		p := startUpAs(t, programFor(t, 5*time.Minute, "up", "--data", data, "--policy", "raw", "--initial", "enter",
			"--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"))
		s.URL, s.Bus, s.Wire = p.url, p.bus, p.wire
		if err := s.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for range kills {
		p := start()
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		load.Go(func() { s.Load(ctx) })
		plan.pass(ctx, within)
		_ = p.Process.Kill()
		stop()
		load.Wait()
		_ = p.Wait() // it was killed
	}
	p := start()
	if err := s.Rest(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.terminate(t)
	start().terminate(t) // verifies what the subscriber has
	seen, err := s.Judge()
	if err != nil {
		t.Fatal(err)
	}

	out, err := program(t, "check", "--replay", "--json", "--data", data).Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		t.Fatalf("check --replay: %v: %s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Positions, Events int
		Whole             bool
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v; %s", seen, strings.Join(strings.Fields(string(out)), " "))
	if !found.Whole || found.Events < seen.Events || seen.Events == 0 { // some come with the time, behind the last look
		t.Errorf("the subscriber has %d events, the records cause %d; %d objects", seen.Events, found.Events, seen.Objects)
	}
}
