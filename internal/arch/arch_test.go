// Package arch_test holds the rules of the whole code base: which way imports point, how long
// files and functions get, and what tests may not do.
package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"paddock/internal/sampling"
)

// layers lists directories with the level of the packages below them. The longest prefix
// counts. A package imports packages of lower levels, and of its own directory. Services
// import each other, as Go forbids cycles.
var layers = map[string]int{
	"docs": 0, "internal/netio": 0, "internal/sampling": 0, "load/histogram": 0, "wire/protocol": 0,
	"internal/process": 1, "internal/wire": 1,
	"wire": libraries, "bus": libraries, "fence": libraries, "load": libraries,
	"fence/track": 3, "tunnel": 3,
	"internal/agent": services, "internal/busd": services, "internal/city": services,
	"internal/imports": services, "internal/manual": services, "internal/platform": services,
	"internal/tunneld": services, "internal/website": services, "internal/wiredump": services,
	"lab": 6, "internal/arch": 6,
	"cmd": 7, "lab/compare": 7, "docs/results": 7, "packaging": 7,
}

const (
	libraries = 2
	services  = 4
	// composition is the one package that puts the services together.
	composition = "internal/platform"

	maxFileLines = 500
	maxFuncLines = 90
)

// module is the path of the module, which another host may have changed.
var module = func() string {
	text, err := os.ReadFile("../../go.mod")
	first, _, _ := strings.Cut(string(text), "\n")
	path, ok := strings.CutPrefix(first, "module ")
	if err != nil || !ok {
		panic(fmt.Sprintf("go.mod: %q, %v", first, err))
	}
	return path
}()

// source is one Go file of the module.
type source struct {
	*ast.File
	path, dir string
	test      bool
	lines     int
}

func (f *source) imports(pkg string) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(pkg) })
}

// code is the module.
type code struct {
	t     *testing.T
	fset  *token.FileSet
	files []*source
}

func TestCode(t *testing.T) {
	sampling.Sequential(t)
	c := load(t)
	for _, f := range c.files {
		c.imports(f)
		if !f.test {
			c.sizes(f)
		}
	}
	c.comments()
	c.sleeps()
	c.leaks()
}

// load parses the Go files of the module.
func load(t *testing.T) *code {
	c := &code{t: t, fset: token.NewFileSet()}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base == "testdata" || base == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(c.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		c.files = append(c.files, &source{
			File: parsed, path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), lines: c.fset.File(parsed.Pos()).LineCount(),
		})
		return nil
	})
	if err != nil || len(c.files) == 0 {
		t.Fatalf("%d files, %v", len(c.files), err)
	}
	return c
}

func (c *code) fault(f *source, at token.Pos, format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s:%d: "+format, append([]any{f.path, c.fset.Position(at).Line}, args...)...)
}

// unitOf returns the entry of layers that a directory belongs to.
func unitOf(dir string) (unit string, level int, ok bool) {
	if dir == composition { // but not the services below it
		return composition, services + 1, true
	}
	for at := dir; at != "."; at = path.Dir(at) {
		if level, ok := layers[at]; ok {
			return at, level, true
		}
	}
	return "", 0, false
}

func (c *code) imports(f *source) {
	unit, level, ok := unitOf(f.dir)
	if !ok {
		c.fault(f, f.Package, "directory %s has no level", f.dir)
		return
	}
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		target, ours := strings.CutPrefix(name, module+"/")
		if !ours {
			continue
		}
		to, below, _ := unitOf(target)
		switch {
		case below < level, to == unit, level == services && below == services:
		case f.test && (below == services || strings.HasPrefix(target, "lab/responder")):
			// a library's tests may use the demo's city, and services whose behaviour is known
		default:
			c.fault(f, spec.Pos(), "%s imports %s, which is not below it", f.dir, target)
		}
	}
}

func (c *code) sizes(f *source) {
	if f.lines > maxFileLines {
		c.fault(f, f.Package, "%d lines: a file holds one concept and has at most %d", f.lines, maxFileLines)
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			if n := c.fset.Position(fn.End()).Line - c.fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
				c.fault(f, fn.Pos(), "%s has %d lines: a function does one thing and has at most %d", fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

// comments checks that one file of each package explains it.
func (c *code) comments() {
	docs := map[string]int{}
	for _, f := range c.files {
		if f.test {
			continue
		}
		if docs[f.dir] += 0; f.Doc == nil {
			continue
		}
		docs[f.dir]++
		begin := "Package " + f.Name.Name + " "
		if f.Name.Name == "main" {
			begin = "Command " + path.Base(f.dir) + " "
		}
		if !strings.HasPrefix(f.Doc.Text(), begin) {
			c.fault(f, f.Doc.Pos(), "the package comment does not begin with %q", begin)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(docs)) {
		if docs[dir] != 1 {
			c.t.Errorf("%s: %d files have a package comment, want 1", dir, docs[dir])
		}
	}
}

// sleeps reports time.Sleep in tests of packages that do not use synctest, whose time is not real.
func (c *code) sleeps() {
	bubbles := map[string]bool{}
	for _, f := range c.files {
		bubbles[f.dir] = bubbles[f.dir] || f.test && f.imports("testing/synctest")
	}
	for _, f := range c.files {
		if !f.test || bubbles[f.dir] {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Sleep" {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				c.fault(f, n.Pos(), "time.Sleep makes a test slow or flaky: wait for what is expected, or use testing/synctest")
			}
			return true
		})
	}
}

// leaky lists directories whose tests do not use goleak, with the reason.
var leaky = map[string]string{
	"tunnel/internal/tunneltest":        "the tests of server and client use it, and check for leaks",
	"lab/compare/conformance":           "the tests of foreign clients run here, and not our own",
	"lab/compare/internal/nats/busdiff": "nats-server, which runs in the process, leaves goroutines behind",
}

func isLeaky(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if leaky[dir] != "" {
			return true
		}
	}
	return false
}

// leaks reports packages that start goroutines and whose tests do not use goleak.
func (c *code) leaks() {
	starts, checked := map[string]bool{}, map[string]bool{}
	for _, f := range c.files {
		if f.test {
			checked[f.dir] = checked[f.dir] || f.imports("go.uber.org/goleak")
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts[f.dir] = true
			case *ast.CallExpr: // of a WaitGroup or the like
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
					starts[f.dir] = true
				}
			}
			return true
		})
	}
	for _, dir := range slices.Sorted(maps.Keys(starts)) {
		if starts[dir] && !checked[dir] && !isLeaky(dir) {
			c.t.Errorf("%s starts goroutines, and its tests do not use goleak", dir)
		}
	}
}
