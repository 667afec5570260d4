package check

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const unitsDir = "../../systemd"

// maxExposure bounds what systemd-analyze calls the exposure of a unit, from 0 to 10.
const maxExposure = 2.0

// units returns the paths of the units.
func units(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(unitsDir, "*.service"))
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	return all
}

// analyze runs systemd-analyze.
func analyze(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("PADDOCK_REQUIRE_SYSTEMD") != "" {
			t.Fatal("PADDOCK_REQUIRE_SYSTEMD is set, but there is no systemd-analyze")
		}
		t.Skip("no systemd-analyze")
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0", "SYSTEMD_PAGER=cat", "LC_ALL=C")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if err != nil {
		t.Errorf("systemd-analyze %v: %v\n%s", args, err, &out)
	}
	return out.String()
}

// systemd finds no fault in a unit. The program is where the unit says, in a root of its own.
func TestUnitsAreValid(t *testing.T) {
	root := t.TempDir()
	place := func(name string, text []byte, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
	}
	place("usr/bin/paddock", []byte("#!/bin/sh\n"), 0o755)
	place("bin/sh", []byte("#!/bin/sh\n"), 0o755)
	for _, target := range []string{"network-online.target", "multi-user.target", "basic.target", "sysinit.target", "shutdown.target"} {
		place("usr/lib/systemd/system/"+target, []byte("[Unit]\nDescription=of a test\nDefaultDependencies=no\n"), 0o644)
	}
	args := []string{"verify", "--man=no", "--root=" + root}
	for _, unit := range units(t) {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		place("usr/lib/systemd/system/"+filepath.Base(unit), text, 0o644)
		args = append(args, filepath.Base(unit))
	}
	if out := analyze(t, args...); strings.Contains(out, "paddock") {
		t.Errorf("%s", out)
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for \S+: (\d+\.\d+)`)

// A unit has the rights that its service needs, and hardly any other.
func TestUnitsAreConfined(t *testing.T) {
	for _, unit := range units(t) {
		out := analyze(t, "security", "--offline=true", "--no-pager", unit)
		m := exposure.FindStringSubmatch(out)
		if m == nil {
			t.Errorf("%s: no exposure in\n%s", unit, out)
			continue
		}
		if n, err := strconv.ParseFloat(m[1], 64); err != nil || n >= maxExposure {
			t.Errorf("%s: exposure %s, %v", unit, m[1], err)
		}
	}
}

// Each unit tells of its state, has a watchdog, and stops before systemd kills it.
func TestUnitsAreManaged(t *testing.T) {
	for _, unit := range units(t) {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"Type=notify", "WatchdogSec=120", "TimeoutStopSec=40", "Restart=on-failure", "DynamicUser=yes", "LimitNOFILE=1048576"} {
			if !strings.Contains(string(text), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", unit, line)
			}
		}
		if reads := !strings.HasSuffix(unit, "agent.service"); reads != strings.Contains(string(text), "\nExecReload=") {
			t.Errorf("%s: ExecReload, and the service reads its file again: %v", unit, reads)
		}
	}
}
