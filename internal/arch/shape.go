package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// The longest that a file and a function get. Far below them one asks already
// which second concept has moved in.
const (
	maxFileLines = 600
	maxFuncLines = 90
)

// sizes checks the length of files and functions. Tests are free of it: a table
// is as long as what it lists.
func (c *checker) sizes() {
	for _, f := range c.files {
		if f.test {
			continue
		}
		if f.lines > maxFileLines && !c.excepted(c.policy.LongFiles, f.path) {
			c.report(f.path, 0, "%d lines: a file holds one concept and has at most %d.", f.lines, maxFileLines)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := c.line(fn.End()) - c.line(fn.Pos()) + 1
			if lines > maxFuncLines && !c.excepted(c.policy.LongFuncs, f.path+":"+funcName(fn)) {
				c.report(f.path, c.line(fn.Pos()), "%s has %d lines: a function does one thing and has at most %d.",
					funcName(fn), lines, maxFuncLines)
			}
		}
	}
}

// funcName returns "Name" or "Type.Name".
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// nondescript are names that say nothing about what a package is for.
var nondescript = []string{"util", "utils", "common", "helper", "helpers", "pkg", "misc", "shared", "base", "lib"}

// names checks the names of packages and of their directories.
func (c *checker) names() {
	seen := map[string]bool{}
	for _, f := range c.files {
		for _, word := range append(strings.Split(f.dir, "/"), strings.TrimSuffix(f.Name.Name, "_test")) {
			if key := f.dir + " " + word; slices.Contains(nondescript, word) && !seen[key] {
				seen[key] = true
				c.report(f.dir, 0, "A directory is a noun that a user would say: %q says nothing.", word)
			}
		}
	}
}

// comments checks that each package says what it is, in one file only.
func (c *checker) comments() {
	documented := map[string][]string{}
	var dirs []string
	for _, f := range c.files {
		if f.test {
			continue
		}
		if !slices.Contains(dirs, f.dir) {
			dirs = append(dirs, f.dir)
		}
		if f.Doc == nil || strings.TrimSpace(f.Doc.Text()) == "" {
			continue
		}
		documented[f.dir] = append(documented[f.dir], f.path)
		begin := "Package " + f.Name.Name + " "
		if f.Name.Name == "main" {
			begin = "Command " + path.Base(f.dir) + " "
		}
		if !strings.HasPrefix(f.Doc.Text(), begin) {
			c.report(f.path, c.line(f.Doc.Pos()), "A package comment begins with %q.", strings.TrimSpace(begin))
		}
	}
	for _, dir := range dirs {
		switch files := documented[dir]; {
		case len(files) == 0:
			c.report(dir, 0, "Every package explains its model in a package comment.")
		case len(files) > 1:
			c.report(dir, 0, "One file holds the package comment, not %s.", strings.Join(files, " and "))
		}
	}
}
