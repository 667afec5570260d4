package rule

import (
	"errors"
	"fmt"
)

// operation is the kind of an expression.
type operation uint8

const (
	opOr operation = iota
	opAnd
	opNot
	opEqual
	opLess
	opLessOrEqual
	opAbsent // left is not there
)

// expression is a node of a condition.
type expression struct {
	op          operation
	of          []expression // of opOr and opAnd two or more, of opNot one
	left, right operand      // of comparisons
	negated     bool         // a comparison by !=
	swapped     bool         // a comparison by > or >=, whose sides changed places
}

func (e *expression) eval(in *Input) truth {
	switch e.op {
	case opOr:
		return e.evalAny(in)
	case opAnd:
		return e.evalAll(in)
	case opNot:
		return e.of[0].eval(in).not()
	}
	if t := e.compare(in); !e.negated {
		return t
	} else {
		return t.not()
	}
}

func (e *expression) evalAny(in *Input) truth {
	result := no
	for i := range e.of {
		if result = max(result, e.of[i].eval(in)); result == yes {
			break
		}
	}
	return result
}

func (e *expression) evalAll(in *Input) truth {
	result := yes
	for i := range e.of {
		if result = min(result, e.of[i].eval(in)); result == no {
			break
		}
	}
	return result
}

func (e *expression) compare(in *Input) truth {
	left := e.left.read(in)
	if e.op == opAbsent {
		return truthOf(left.kind == missing || left.kind == unknown)
	}
	right := e.right.read(in)
	if e.op == opEqual {
		return left.same(right)
	}
	return left.less(right, e.op == opLessOrEqual)
}

// source is where an operand comes from.
type source uint8

const (
	fromLiteral source = iota
	fromSpeed
	fromHeading
	fromAccuracy
	fromObject
	fromFence
)

// operand is one side of a comparison.
type operand struct {
	source  source
	name    string  // of a property or measure
	scale   float64 // of a measure
	literal value   // of a literal
}

func (o *operand) read(in *Input) value {
	switch o.source {
	case fromSpeed:
		return measured(in.Speed, o.scale)
	case fromHeading:
		return measured(in.Heading, o.scale)
	case fromAccuracy:
		return measured(in.Accuracy, o.scale)
	case fromObject:
		return in.Object.get(o.name)
	case fromFence:
		return in.Fence.get(o.name)
	}
	return o.literal
}

// measures lists the names of measures, with their factors over metres, seconds and degrees.
var measures = map[string]operand{
	"speed":       {source: fromSpeed, scale: 1},
	"speed_kmh":   {source: fromSpeed, scale: 3.6},
	"speed_mph":   {source: fromSpeed, scale: 3600 / 1609.344},
	"speed_knots": {source: fromSpeed, scale: 3600.0 / 1852},
	"heading":     {source: fromHeading, scale: 1},
	"accuracy":    {source: fromAccuracy, scale: 1},
}

// compare makes a comparison. Comparisons whose answer is always the same are errors.
func compare(left operand, sign string, right operand) (expression, error) {
	e := expression{op: opEqual, left: left, right: right, negated: sign == "!="}
	switch sign {
	case "<", ">":
		e.op = opLess
	case "<=", ">=":
		e.op = opLessOrEqual
	}
	if sign[0] == '>' {
		e.left, e.right, e.swapped = right, left, true
	}
	switch l, r := left.kind(), right.kind(); {
	case left.source == fromLiteral && right.source == fromLiteral:
		return e, errors.New("both sides are constants")
	case left.isNull() || right.isNull():
		return absent(e, sign)
	case l != missing && r != missing && l != r:
		return e, fmt.Errorf("%v is %s, %v is %s: they cannot be compared", &left, kindNames[l], &right, kindNames[r])
	case e.op != opEqual && (l == boolean || r == boolean):
		return e, fmt.Errorf("true and false have no order: use == or !=, not %s", sign)
	}
	return e, nil
}

// absent makes the comparison of e's other side with null.
func absent(e expression, sign string) (expression, error) {
	if e.op != opEqual {
		return e, fmt.Errorf("null has no order: use == or !=, not %s", sign)
	}
	if e.left.isNull() {
		e.left = e.right
	}
	e.op, e.right = opAbsent, operand{}
	return e, nil
}

var kindNames = [...]string{boolean: "true or false", number: "a number", text: "a text"}

func (o *operand) isNull() bool { return o.source == fromLiteral && o.literal.kind == missing }

// kind returns the kind of an operand's values; missing: any.
func (o *operand) kind() kind {
	switch o.source {
	case fromLiteral:
		return o.literal.kind
	case fromObject, fromFence:
		return missing
	}
	return number
}
