package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestPaddock is the architecture test of this module.
func TestPaddock(t *testing.T) {
	findings, err := Check(os.DirFS("../.."), Paddock)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func TestTheModuleIsWhereTheTestLooks(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil || !strings.HasPrefix(string(text), "module "+Paddock.Module+"\n") {
		t.Errorf("../../go.mod: %v", err)
	}
}

// sample is the policy of the trees under testdata.
var sample = Policy{
	Module:      "example",
	Base:        []string{"bus", "fence"},
	Upper:       []string{"fence/track"},
	Composition: "internal/platform",
	Leaves:      map[string]string{"internal/process/version": "which build"},
}

// TestTrees checks the checker. Each archive is a module, with what must be
// found in it in the file "want"; its "policy" adds exceptions.
func TestTrees(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no trees: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fsys := fstest.MapFS{}
			policy := sample
			var want string
			for _, f := range archive.Files {
				switch f.Name {
				case "want":
					want = string(f.Data)
				case "policy":
					policy = extend(t, sample, string(f.Data))
				default:
					fsys[f.Name] = &fstest.MapFile{Data: f.Data}
				}
			}
			findings, err := Check(fsys, policy)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range findings {
				got.WriteString(f.String() + "\n")
			}
			if got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// extend reads lines of the form "List: key: reason" into the policy.
func extend(t *testing.T, p Policy, text string) Policy {
	t.Helper()
	p.Edges, p.TestEdges, p.LongFiles = map[string]string{}, map[string]string{}, map[string]string{}
	p.LongFuncs, p.Sleeps, p.Unchecked = map[string]string{}, map[string]string{}, map[string]string{}
	lists := p.exceptions()
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ": ", 3)
		if lists[parts[0]] == nil || len(parts) < 2 {
			t.Fatalf("policy: %q", line)
		}
		lists[parts[0]][parts[1]] = strings.Join(parts[2:], "")
	}
	return p
}

// Lengths are made here: a fixture of 601 lines would tell nobody anything.
func TestSizes(t *testing.T) {
	header := "// Package bus is a sample.\npackage bus\n"
	longFunc := func(lines int) string { return "func f() {" + strings.Repeat("\n", lines-1) + "}\n" }
	for _, tc := range []struct{ name, file, text, want string }{
		{"longest file", "bus/a.go", header + strings.Repeat("\n", 598), ""},
		{
			"file too long", "bus/a.go", header + strings.Repeat("// x\n", 599),
			"bus/a.go: 601 lines: a file holds one concept and has at most 600.",
		},
		{"longest function", "bus/a.go", header + longFunc(90), ""},
		{
			"function too long", "bus/a.go", header + longFunc(91),
			"bus/a.go:3: f has 91 lines: a function does one thing and has at most 90.",
		},
		{
			"method too long", "bus/a.go", header + "type T[K any] int\n" + strings.Replace(longFunc(91), "f()", "(t *T[K]) m()", 1),
			"bus/a.go:4: T.m has 91 lines: a function does one thing and has at most 90.",
		},
		{"tests are free", "bus/a_test.go", "package bus\n" + longFunc(700), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{tc.file: {Data: []byte(tc.text)}}
			findings, err := Check(fsys, sample)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.String())
			}
			if strings.Join(got, "\n") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	fsys := fstest.MapFS{"bus/a.go": {Data: []byte("package")}}
	if _, err := Check(fsys, sample); err == nil || !strings.Contains(err.Error(), "bus/a.go") {
		t.Errorf("got %v", err)
	}
}
