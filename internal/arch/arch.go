// Package arch checks what holds the code base together and no compiler sees:
// which package may import which, how long files and functions get, and a few
// rules of the house. It reads the syntax of every Go file of the module.
//
// The rules are in this package, the exceptions in [Policy], each with its
// reason. An exception that nothing needs any more is a finding too, so the
// lists only hold what is true.
package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Finding is one violation, with the rule in one sentence.
type Finding struct {
	Path string // slash-separated, from the module's root
	Line int    // 0 if it is about the whole file, directory or policy
	Text string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return f.Path + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// Check applies every rule to the module in fsys and returns what it finds,
// in the order of paths and lines.
func Check(fsys fs.FS, p Policy) ([]Finding, error) {
	t, err := load(fsys)
	if err != nil {
		return nil, err
	}
	c := &checker{tree: t, policy: p, used: map[string]bool{}}
	c.imports()
	c.sizes()
	c.names()
	c.comments()
	c.sleeps()
	c.leaks()
	c.staleExceptions()
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return c.findings, nil
}

// checker collects the findings of one run.
type checker struct {
	*tree
	policy   Policy
	findings []Finding
	used     map[string]bool // exceptions that something needed
}

func (c *checker) report(path string, line int, format string, args ...any) {
	c.findings = append(c.findings, Finding{path, line, fmt.Sprintf(format, args...)})
}

// excepted reports whether the list has an entry for key, and marks it as used.
func (c *checker) excepted(list map[string]string, key string) bool {
	_, ok := list[key]
	if ok {
		c.used[key] = true
	}
	return ok
}

// staleExceptions reports entries that nothing needed, or that give no reason.
func (c *checker) staleExceptions() {
	for name, list := range c.policy.exceptions() {
		for key, reason := range list {
			if !c.used[key] {
				c.report("policy", 0, "%s lists %s, which needs no exception", name, key)
			}
			if reason == "" {
				c.report("policy", 0, "%s lists %s without a reason", name, key)
			}
		}
	}
}

// tree is the module's Go files.
type tree struct {
	fset  *token.FileSet
	files []*file // in the order of their paths
}

// file is one parsed Go file.
type file struct {
	*ast.File
	path  string // "bus/parser.go"
	dir   string // "bus"
	test  bool
	lines int
}

// line returns the line of a position in a file of the tree.
func (t *tree) line(p token.Pos) int { return t.fset.Position(p).Line }

// load parses the module's Go files, but for those that the go command ignores:
// testdata, hidden directories, node_modules, and modules within the module.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && ignored(fsys, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return t.parse(fsys, name)
	})
	return t, err
}

func ignored(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func (t *tree) parse(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &file{
		File:  parsed,
		path:  name,
		dir:   path.Dir(name),
		test:  strings.HasSuffix(name, "_test.go"),
		lines: t.fset.File(parsed.Pos()).LineCount(),
	})
	return nil
}

// importPath returns the path that an import declaration names.
func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return "" // the parser does not let it come to that
	}
	return p
}

// localName returns the name by which the file refers to an imported package
// whose own name is the last element of its path; "" if it does not import it.
func (f *file) localName(pkg string) string {
	for _, spec := range f.Imports {
		if importPath(spec) != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}
