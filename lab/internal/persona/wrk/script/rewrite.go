package script

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// meterSteps makes calls of ours of what the interpreter does in one step however much memory
// it takes: each .., and each assignment to a computed key.
func meterSteps(chunk []ast.Stmt) { walk(reflect.ValueOf(chunk)) }

// walk goes through a tree of the parser.
func walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i))
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		switch e := v.Interface().(type) {
		case *ast.StringConcatOpExpr:
			v.Set(reflect.ValueOf(joined(e)))
		case *ast.AssignStmt:
			meterKeys(e.Lhs)
		case *ast.TableExpr:
			meterFields(e.Fields)
		}
		walk(v.Elem())
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			walk(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i))
			}
		}
	}
}

// calling is a call of a global in the place of an expression.
func calling(name string, of ast.Expr, args ...ast.Expr) *ast.FuncCallExpr {
	f := &ast.IdentExpr{Value: name}
	c := &ast.FuncCallExpr{Func: f, Args: args, AdjustRet: true}
	f.SetLine(of.Line())
	f.SetLastLine(of.LastLine())
	c.SetLine(of.Line())
	c.SetLastLine(of.LastLine())
	return c
}

// single keeps the last operand from giving more than one value.
func single(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		x.AdjustRet = true
	case *ast.Comma3Expr:
		x.AdjustRet = true
	}
	return e
}
