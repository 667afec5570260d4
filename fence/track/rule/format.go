package rule

import (
	"strconv"
	"strings"

	"paddock/fence/track/rule/internal/document"
)

// String returns the canonical text of an expression.
func (e *expression) String() string {
	switch e.op {
	case opOr:
		return e.join(" or ")
	case opAnd:
		return e.join(" and ")
	case opNot:
		return "not " + e.of[0].within(opNot)
	case opAbsent:
		return e.left.String() + " " + e.sign() + " null"
	}
	left, right := &e.left, &e.right
	if e.swapped {
		left, right = right, left
	}
	if e.op == opEqual && !e.negated && right.source == fromLiteral && right.literal.kind == boolean && right.literal.truth {
		return left.String()
	}
	return left.String() + " " + e.sign() + " " + right.String()
}

func (e *expression) join(operator string) string {
	var parts []string
	for i := range e.of {
		parts = append(parts, e.of[i].within(e.op))
	}
	return strings.Join(parts, operator)
}

// within returns the text of a part of an expression, in parentheses if it binds less.
func (e *expression) within(outer operation) string {
	if e.op < outer {
		return "(" + e.String() + ")"
	}
	return e.String()
}

func (e *expression) sign() string {
	switch {
	case e.negated:
		return "!="
	case e.op == opEqual, e.op == opAbsent:
		return "=="
	}
	sign := "<"
	if e.swapped {
		sign = ">"
	}
	if e.op == opLessOrEqual {
		sign += "="
	}
	return sign
}

func (o *operand) String() string {
	switch o.source {
	case fromLiteral:
		return o.literal.String()
	case fromObject:
		return "object" + propertyText(o.name)
	case fromFence:
		return "fence" + propertyText(o.name)
	}
	return o.name
}

func propertyText(name string) string {
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !isWordPart(r) }) && isWordStart([]rune(name)[0]) {
		return "." + name
	}
	return "[" + string(document.AppendText(nil, name)) + "]"
}

func (v value) String() string {
	switch v.kind {
	case number:
		return string(document.AppendNumber(nil, v.number))
	case text:
		return string(document.AppendText(nil, string(v.text)))
	case boolean:
		return strconv.FormatBool(v.truth)
	}
	return "null"
}
