package arch_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"paddock/internal/sampling"
)

const root = "../.."

var (
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```|^(?:    .*\n)+")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	anchorDrop = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// pages returns the Markdown of the repository by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range tracked(t, "*.md") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(text)
	}
	if len(found) < 30 {
		t.Fatalf("%d pages", len(found))
	}
	return found
}

// tracked returns the files of the repository whose names match the patterns. Directories that
// hold built or fetched files are left out, as the tests also run without git.
func tracked(t *testing.T, patterns ...string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != root && (name[0] == '.' && name != ".ci" || name == "node_modules" || name == "bin" || name == "artifacts" || name == "target") {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, d.Name()); return ok }) {
			name, err := filepath.Rel(root, p)
			names = append(names, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// anchors returns the names of a page's headings as links use them.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(page, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		names = append(names, strings.ReplaceAll(strings.ToLower(anchorDrop.ReplaceAllString(title, "")), " ", "-"))
	}
	return names
}

// TestLinksResolve holds that each relative link of a page leads to a file, and to a heading of it.
func TestLinksResolve(t *testing.T) {
	sampling.Sequential(t)
	all := pages(t)
	for name, text := range all {
		prose := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: %s has no heading for the link #%s", name, target, anchor)
			}
		}
	}
}

// TestNamedPagesExist holds that code, pages and build files name pages that are there.
func TestNamedPagesExist(t *testing.T) {
	sampling.Sequential(t)
	named := regexp.MustCompile(`\bdocs/[A-Za-z0-9/_.-]+\.(?:md|yaml|json|png)\b`)
	for _, name := range tracked(t, "*.go", "*.md", "*.ts", "*.mjs", "*.yaml", "*.json", "*.txtar", "Makefile") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range named.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				t.Errorf("%s names %s, which does not exist", name, page)
			}
		}
	}
}

// TestEveryPageIsListed holds that docs/README.md links each page below docs.
func TestEveryPageIsListed(t *testing.T) {
	all := pages(t)
	for name := range all {
		short, ok := strings.CutPrefix(name, "docs/")
		if ok && short != "README.md" && !strings.Contains(all["docs/README.md"], "("+short+")") {
			t.Errorf("docs/README.md does not link %s", short)
		}
	}
}

// TestREADMECompiles builds the Go code of README.md as a program of a user, whose go.mod has a
// replace line for the clone.
func TestREADMECompiles(t *testing.T) {
	_, after, ok := strings.Cut(pages(t)["README.md"], "```go\n")
	code, _, closed := strings.Cut(after, "```")
	if !ok || !closed {
		t.Fatal("README.md has no Go code")
	}
	clone, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// The requirements of the clone stand in for `go mod tidy`, which may ask the network.
	own, _, _ := strings.Cut(strings.Replace(string(mod), "module "+module+"\n", "module example\n", 1), "\ntool")
	own += "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + clone + "\n"
	program := "package example\n\nimport (\n\"fmt\"\n\"log\"\n\"os\"\n\n\"" + module + "/fence\"\n)\n\nfunc Example() {\n" + code + "}\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": own, "go.sum": string(sum), "example.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-trimpath -mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
