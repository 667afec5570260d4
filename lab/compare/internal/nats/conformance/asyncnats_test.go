package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// AsyncNATS is the integration tests of async-nats, which the published crate
// holds. Cargo fetches it; a package beside them builds them against the crate.
type AsyncNATS struct {
	Dir   string // lab/compare/conformance/asyncnats
	Cache string // where the package is put together and built: 0.7 GB
}

// Name returns the name of the suite in results.
func (a AsyncNATS) Name() string { return "async-nats" }

// List returns the file's name.
func (a AsyncNATS) List() string { return filepath.Join(a.Dir, "tests.txt") }

// Prepare puts the package together and builds it.
func (a AsyncNATS) Prepare(ctx context.Context, list *List) ([]Unit, error) {
	if _, err := exec.LookPath("cargo"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	pkg, err := filepath.Abs(filepath.Join(a.Cache, "asyncnats"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(pkg), os.CopyFS(pkg, os.DirFS(a.Dir))); err != nil {
		return nil, err
	}
	if _, err := output(ctx, pkg, nil, "cargo", "fetch", "--locked"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	source, err := crateSource(ctx, pkg, "async-nats")
	if err != nil {
		return nil, err
	}
	units, err := a.link(filepath.Join(source, "tests"), pkg, list)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(filepath.Dir(pkg), "target"))
	out, err := output(ctx, pkg, env, "nice", "cargo", "test", "--locked", "--offline", "-j", "1", "--no-run", "--message-format", "json")
	if err != nil {
		return nil, err
	}
	programs, err := rustPrograms(out)
	for _, u := range units {
		u.program = programs[u.name]
	}
	return asUnits(units), err
}

// link links the files of tests that are not left out as a whole into the package, with the files
// that they read. The others are units too, so that their tests are counted.
func (a AsyncNATS) link(source, pkg string, list *List) ([]*rustUnit, error) {
	files, err := filepath.Glob(filepath.Join(source, "*.rs"))
	if err != nil {
		return nil, err
	}
	tests := filepath.Join(pkg, "tests")
	err = errors.Join(os.Mkdir(tests, 0o755), os.Symlink(filepath.Join(source, "configs"), filepath.Join(tests, "configs")))
	var units []*rustUnit
	for _, file := range files {
		u := &rustUnit{name: strings.TrimSuffix(filepath.Base(file), ".rs"), source: file, dir: pkg}
		units = append(units, u)
		if !list.SkipsUnit(u.name) {
			err = errors.Join(err, os.Symlink(file, filepath.Join(tests, filepath.Base(file))))
		}
	}
	return units, err
}

func asUnits(units []*rustUnit) []Unit {
	all := make([]Unit, len(units))
	for i, u := range units {
		all[i] = u
	}
	return all
}

// crateSource returns where cargo keeps a crate.
func crateSource(ctx context.Context, pkg, crate string) (string, error) {
	out, err := output(ctx, pkg, nil, "cargo", "metadata", "--locked", "--offline", "--format-version", "1")
	if err != nil {
		return "", err
	}
	var metadata struct {
		Packages []struct {
			Name     string
			Manifest string `json:"manifest_path"`
		}
	}
	if err := json.Unmarshal(out, &metadata); err != nil {
		return "", err
	}
	for _, p := range metadata.Packages {
		if p.Name == crate {
			return filepath.Dir(p.Manifest), nil
		}
	}
	return "", fmt.Errorf("cargo does not know %s", crate)
}

// rustPrograms returns the test programs that cargo says it has built, by name.
func rustPrograms(messages []byte) (map[string]string, error) {
	programs := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(messages))
	for decoder.More() {
		var message struct {
			Executable string
			Target     struct {
				Name string
				Kind []string
			}
		}
		if err := decoder.Decode(&message); err != nil {
			return nil, err
		}
		if message.Executable != "" && slices.Contains(message.Target.Kind, "test") {
			programs[message.Target.Name] = message.Executable
		}
	}
	return programs, nil
}

// rustUnit is a test program of Rust.
type rustUnit struct {
	name    string
	program string // empty: it was not built
	source  string
	dir     string // where it finds its files
}

func (u *rustUnit) Name() string { return u.name }

// rustTest is a test in a source file.
var rustTest = regexp.MustCompile(`#\[(?:tokio::)?test\b[^]]*\](?:\s*(?:#\[[^]]*\]|//[^\n]*))*\s*(?:async )?fn (\w+)`)

// Tests asks the program, or reads the source of one that was not built.
func (u *rustUnit) Tests(ctx context.Context, env []string) ([]string, error) {
	var tests []string
	if u.program == "" {
		source, err := os.ReadFile(u.source)
		for _, m := range rustTest.FindAllStringSubmatch(string(source), -1) {
			tests = append(tests, m[1])
		}
		return tests, err
	}
	out, err := output(ctx, u.dir, env, u.program, "--list", "--format", "terse")
	for line := range strings.Lines(string(out)) {
		if test, ok := strings.CutSuffix(strings.TrimSpace(line), ": test"); ok {
			tests = append(tests, test)
		}
	}
	return tests, err
}

// rustResult is the line that ends a test.
var rustResult = regexp.MustCompile(`(?m)^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)`)

func (u *rustUnit) Run(ctx context.Context, env []string, tests []string, report func(string, Result)) (string, error) {
	if u.program == "" {
		return "", fmt.Errorf("%s was not built", u.name)
	}
	args := append([]string{"--exact", "--test-threads", strconv.Itoa(min(4, 2*runtime.NumCPU()))}, tests...)
	log, err := testProgram(ctx, patience(len(tests)), u.dir, env, u.program, args...)
	parseRust(log, report)
	return log, err
}

// parseRust reports the results in a test program's output.
func parseRust(log string, report func(string, Result)) {
	for _, m := range rustResult.FindAllStringSubmatch(log, -1) {
		report(m[1], map[string]Result{"ok": Passed, "FAILED": Failed, "ignored": Skipped}[m[2]])
	}
}
