package arch

import (
	"go/ast"
	"slices"
)

const (
	pathTime     = "time"
	pathSynctest = "testing/synctest"
	pathGoleak   = "go.uber.org/goleak"
)

// sleeps reports time.Sleep in tests. Within synctest.Test time is not real, so
// there it is as good as any other way to wait; and so it is within a function of
// the same tests that runs what it is given there.
func (c *checker) sleeps() {
	bubbles := c.bubbles()
	for _, f := range c.files {
		timePkg := f.localName(pathTime)
		if !f.test || timePkg == "" {
			continue
		}
		synctest := f.localName(pathSynctest)
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				fn, isName := call.Fun.(*ast.Ident)
				if isName && bubbles[f.dir+"."+fn.Name] || synctest != "" && isSelector(call.Fun, synctest, "Test") {
					return false
				}
			}
			sel, ok := n.(*ast.SelectorExpr)
			if ok && isSelector(sel, timePkg, "Sleep") && !c.excepted(c.policy.Sleeps, f.path) {
				c.report(f.path, c.line(sel.Pos()),
					"A test waits for what it expects, or uses testing/synctest: time.Sleep makes it slow or flaky.")
			}
			return true
		})
	}
}

// bubbles returns the functions of tests, as "dir.Name", that use one of their
// parameters within synctest.Test.
func (c *checker) bubbles() map[string]bool {
	found := map[string]bool{}
	for _, f := range c.files {
		synctest := f.localName(pathSynctest)
		if !f.test || synctest == "" {
			continue
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && isSelector(call.Fun, synctest, "Test") && len(call.Args) == 2 && usesFunc(call.Args[1], fn.Type.Params) {
					found[f.dir+"."+fn.Name.Name] = true
				}
				return true
			})
		}
	}
	return found
}

// usesFunc says whether n names one of params whose type is a function.
func usesFunc(n ast.Node, params *ast.FieldList) (uses bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		for _, field := range params.List {
			if _, isFunc := field.Type.(*ast.FuncType); ok && isFunc {
				uses = uses || slices.ContainsFunc(field.Names, func(p *ast.Ident) bool { return p.Name == name.Name })
			}
		}
		return true
	})
	return uses
}

// leaks reports packages that start goroutines and whose tests do not check that
// all have ended.
func (c *checker) leaks() {
	starts := map[string]*Finding{}
	checked := map[string]bool{}
	var dirs []string
	for _, f := range c.files {
		if f.test {
			checked[f.dir] = checked[f.dir] || f.localName(pathGoleak) != ""
			continue
		}
		if at := c.firstGoroutine(f); at != 0 && starts[f.dir] == nil {
			starts[f.dir] = &Finding{Path: f.path, Line: at}
			dirs = append(dirs, f.dir)
		}
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		if !checked[dir] && !c.excepted(c.policy.Unchecked, dir) {
			at := starts[dir]
			c.report(at.Path, at.Line, "starts a goroutine, and no test of %s uses goleak: every goroutine has an owner that waits for it.", dir)
		}
	}
}

// firstGoroutine returns the line of the first go statement, or of the first
// call such as group.Go(func...), and 0 if there is neither.
func (c *checker) firstGoroutine(f *file) (line int) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		if line != 0 {
			return false
		}
		switch n := n.(type) {
		case *ast.GoStmt:
			line = c.line(n.Pos())
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				line = c.line(n.Pos())
			}
		}
		return true
	})
	return line
}

// isSelector reports whether e is pkg.name.
func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}
