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
// there it is as good as any other way to wait.
func (c *checker) sleeps() {
	for _, f := range c.files {
		timePkg := f.localName(pathTime)
		if !f.test || timePkg == "" {
			continue
		}
		synctest := f.localName(pathSynctest)
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && synctest != "" && isSelector(call.Fun, synctest, "Test") {
				return false
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
