package rule

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"paddock/internal/process/spelling"
)

// Limits of a condition.
const (
	MaxCondition = 4096 // bytes of its text
	MaxNesting   = 32   // of parentheses and not in each other
)

// ParseCondition compiles a condition. The error is a *ConditionError if it has a place.
func ParseCondition(source string) (*Condition, error) {
	switch {
	case len(source) > MaxCondition:
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(source), MaxCondition)
	case !utf8.ValidString(source):
		return nil, errors.New("not valid UTF-8")
	}
	p := parser{lexer: lexer{text: source}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.token.kind != endOfText {
		return nil, p.unexpected("and, or, or the end")
	}
	c := &Condition{root: root, text: root.String(), object: []string{}, fence: []string{}}
	if len(c.text) > MaxCondition {
		return nil, fmt.Errorf("%d bytes in canonical form, with and for &&, or for ||, not for !: the limit is %d", len(c.text), MaxCondition)
	}
	c.collect(&c.root)
	return c, nil
}

// parser parses by recursive descent with one token ahead.
type parser struct {
	lexer
	token token // the next one
	depth int
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

func (p *parser) unexpected(want string) error {
	return p.fault(p.token.at, "%v, but expected %s", p.token, want)
}

// accept skips the next token if it is one of these words or signs.
func (p *parser) accept(texts ...string) (bool, error) {
	if !slices.ContainsFunc(texts, p.token.is) {
		return false, nil
	}
	return true, p.advance()
}

// joined parses expressions of one kind with an operator between them.
func (p *parser) joined(op operation, part func() (expression, error), names ...string) (expression, error) {
	all := expression{op: op}
	for {
		e, err := part()
		if err != nil {
			return e, err
		}
		all.add(e)
		more, err := p.accept(names...)
		switch {
		case err != nil:
			return all, err
		case more:
		case len(all.of) == 1:
			return all.of[0], nil
		default:
			return all, nil
		}
	}
}

// add adds a part; the parts of a part with the same operator become its own.
func (e *expression) add(part expression) {
	if part.op == e.op {
		e.of = append(e.of, part.of...)
		return
	}
	e.of = append(e.of, part)
}

func (p *parser) or() (expression, error) { return p.joined(opOr, p.and, "or", "||") }

func (p *parser) and() (expression, error) { return p.joined(opAnd, p.not, "and", "&&") }

func (p *parser) not() (expression, error) {
	at := p.token.at
	negated, err := p.accept("not", "!")
	switch {
	case err != nil:
		return expression{}, err
	case !negated:
		return p.primary()
	}
	if err := p.deeper(at); err != nil {
		return expression{}, err
	}
	defer p.higher()
	e, err := p.not()
	return expression{op: opNot, of: []expression{e}}, err
}

// deeper bounds the nesting; higher is its end.
func (p *parser) deeper(at int) error {
	if p.depth++; p.depth > MaxNesting {
		return p.fault(at, "nested deeper than %d", MaxNesting)
	}
	return nil
}

func (p *parser) higher() { p.depth-- }

// primary parses a comparison, or a condition in parentheses.
func (p *parser) primary() (expression, error) {
	at := p.token.at
	open, err := p.accept("(")
	switch {
	case err != nil:
		return expression{}, err
	case !open:
		return p.comparison()
	}
	if err := p.deeper(at); err != nil {
		return expression{}, err
	}
	defer p.higher()
	e, err := p.or()
	if err != nil {
		return e, err
	}
	if !p.token.is(")") {
		return e, p.unexpected("and, or, or )")
	}
	return e, p.advance()
}

var comparators = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) comparison() (expression, error) {
	leftAt := p.token.at
	left, err := p.operand()
	if err != nil {
		return expression{}, err
	}
	sign := p.token
	if !slices.ContainsFunc(comparators, sign.is) {
		return p.alone(left, leftAt)
	}
	if err := p.advance(); err != nil {
		return expression{}, err
	}
	right, err := p.operand()
	if err != nil {
		return expression{}, err
	}
	if slices.ContainsFunc(comparators, p.token.is) {
		return expression{}, p.fault(p.token.at, "a comparison has two sides: write a < b and b < c")
	}
	e, err := compare(left, sign.text, right)
	if err != nil {
		err = p.fault(sign.at, "%w", err)
	}
	return e, err
}

// alone makes a condition of a property without a comparison.
func (p *parser) alone(o operand, at int) (expression, error) {
	if o.source != fromObject && o.source != fromFence {
		return expression{}, p.fault(at, "%v alone is no condition: compare it, as in speed > 13.9", &o)
	}
	return expression{op: opEqual, left: o, right: operand{literal: value{kind: boolean, truth: true}}}, nil
}

func (p *parser) operand() (o operand, err error) {
	t := p.token
	switch {
	case t.kind == numberToken:
		o.literal = numberOf(t.number)
	case t.kind == textToken:
		o.literal = textOf(t.text)
	case t.is("true"), t.is("false"):
		o.literal = value{kind: boolean, truth: t.text == "true"}
	case t.is("null"):
	case t.is("object"):
		return p.property(fromObject)
	case t.is("fence"):
		return p.property(fromFence)
	default:
		if o, err = p.measure(); err != nil {
			return o, err
		}
	}
	return o, p.advance()
}

func (p *parser) measure() (operand, error) {
	if p.token.kind != word || slices.Contains([]string{"and", "or", "not"}, p.token.text) {
		return operand{}, p.unexpected("a number, a text, speed, heading, accuracy, object. or fence.")
	}
	name := p.token.text
	o, ok := measures[name]
	if !ok {
		known := append(slices.Sorted(maps.Keys(measures)), "object", "fence")
		return o, p.fault(p.token.at, "%s is no name; %s; a text has quotes, a property is written as object.%[1]s or fence.%[1]s", name, spelling.Advice(name, known))
	}
	o.name = name
	return o, nil
}

// property parses .NAME or ["NAME"].
func (p *parser) property(from source) (operand, error) {
	o := operand{source: from}
	if err := p.advance(); err != nil {
		return o, err
	}
	bracket := p.token.is("[")
	if !bracket && !p.token.is(".") {
		return o, p.unexpected(`the name of a property: .NAME or ["NAME"]`)
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	want, what := word, "a name of letters, digits and _"
	if bracket {
		want, what = textToken, "a name in quotes"
	}
	if p.token.kind != want {
		return o, p.unexpected(what)
	}
	o.name = p.token.text
	if err := p.advance(); err != nil || !bracket {
		return o, err
	}
	if !p.token.is("]") {
		return o, p.unexpected("]")
	}
	return o, p.advance()
}
