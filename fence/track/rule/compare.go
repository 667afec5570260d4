package rule

import (
	"errors"
	"fmt"
)

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
