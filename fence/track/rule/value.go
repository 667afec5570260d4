package rule

import (
	"bytes"
	"cmp"
	"math"
)

// Measure is a quantity that a device may not report.
type Measure struct {
	Value float32
	Known bool
}

// kind is the kind of a value in a condition.
type kind uint8

const (
	missing kind = iota // a property that is not there, or null
	unknown             // a measure that the device did not report
	boolean
	number
	text
	compound // a list or an object
)

// value is a property, a measure or a literal.
type value struct {
	kind    kind
	measure bool // a number that is a measure, of the precision of a float32
	truth   bool
	number  float64
	text    []byte
}

func numberOf(f float64) value { return value{kind: number, number: f} }

func textOf(s string) value { return value{kind: text, text: []byte(s)} }

// measured returns a measure, times scale.
func measured(m Measure, scale float64) value {
	f := float64(m.Value)
	if !m.Known || math.IsNaN(f) {
		return value{kind: unknown}
	}
	return value{kind: number, measure: true, number: float64(f * scale)}
}

// valueOf returns the value of a Where.
func valueOf(v any) value {
	switch v := v.(type) {
	case string:
		return textOf(v)
	case float64:
		return numberOf(v)
	case bool:
		return value{kind: boolean, truth: v}
	}
	return value{}
}

// truth is the answer to a condition, or to a part of one. The order makes min an and, max an or.
type truth uint8

const (
	no truth = iota
	dontKnow
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth { return yes - t }

// is reports whether the value is that of a Where.
func (v *value) is(want any) bool {
	switch want := want.(type) {
	case string:
		return v.kind == text && string(v.text) == want
	case float64:
		return v.kind == number && v.number == want
	case bool:
		return v.kind == boolean && v.truth == want
	}
	return false
}

// same compares by ==. Values of different kinds differ. Two missing ones and two compound ones
// cannot be compared.
func (v value) same(w value) truth {
	switch {
	case v.kind == unknown || w.kind == unknown:
		return dontKnow
	case v.kind != w.kind:
		return no
	case v.kind == boolean:
		return truthOf(v.truth == w.truth)
	case v.kind == number, v.kind == text:
		return truthOf(v.order(w) == 0)
	}
	return dontKnow
}

// less compares by <, or by <= if orSame. Only two numbers, or two texts, have an order.
func (v value) less(w value, orSame bool) truth {
	if v.kind != w.kind || v.kind != number && v.kind != text {
		return dontKnow
	}
	order := v.order(w)
	return truthOf(order < 0 || orSame && order == 0)
}

// order compares two numbers or two texts, as cmp.Compare does. A measure has the precision of a
// float32, so the other number is rounded to it.
func (v value) order(w value) int {
	switch {
	case v.kind == text:
		return bytes.Compare(v.text, w.text)
	case v.measure || w.measure:
		return cmp.Compare(float32(v.number), float32(w.number))
	}
	return cmp.Compare(v.number, w.number)
}
