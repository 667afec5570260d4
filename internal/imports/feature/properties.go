package feature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Properties are the properties of a feature in their order.
type Properties struct {
	all []property
	at  map[string]int // where each name is
}

type property struct {
	name  string
	value json.RawMessage
}

// Set sets a property to a JSON value. One of that name is replaced.
func (p *Properties) Set(name string, value json.RawMessage) {
	if i, ok := p.at[name]; ok {
		p.all[i].value = value
		return
	}
	if p.at == nil {
		p.at = map[string]int{}
	}
	p.at[name] = len(p.all)
	p.all = append(p.all, property{name, value})
}

// Each calls visit for each property in their order.
func (p *Properties) Each(visit func(name string, value json.RawMessage)) {
	for i := range p.all {
		visit(p.all[i].name, p.all[i].value)
	}
}

// Clone returns a copy that can be changed alone.
func (p *Properties) Clone() (c Properties) {
	p.Each(c.Set)
	return c
}

// Text sets a property to a text.
func (p *Properties) Text(name, text string) { p.Set(name, Text(text)) }

// Number sets a property to a number. One that is not finite is null.
func (p *Properties) Number(name string, f float64) { p.Set(name, JSONNumber(f)) }

// Get returns the JSON value of a property; nil if there is none.
func (p *Properties) Get(name string) json.RawMessage {
	if i, ok := p.at[name]; ok {
		return p.all[i].value
	}
	return nil
}

// Float returns the number of a property, which may be written as a text.
func (p *Properties) Float(name string) (float64, bool) {
	value := p.Get(name)
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	f, err := Number(strings.TrimSpace(text))
	return f, err == nil
}

// radiusNames are the names of properties that are understood as the radius of a point in metres.
var radiusNames = []string{"radius", "radius_m"}

// Radius returns the radius of a point in metres; 0 if there is none.
func (p *Properties) Radius() (float64, error) {
	for i := range p.all {
		for _, name := range radiusNames {
			if one := &p.all[i]; strings.EqualFold(one.name, name) && string(one.value) != "null" {
				metres, ok := p.Float(one.name)
				if !ok {
					return 0, fmt.Errorf("the property %s is %.40s, not a number of metres", one.name, one.value)
				}
				return metres, nil
			}
		}
	}
	return 0, nil
}

// JSON returns the properties as an object on one line; nil if there are none.
func (p *Properties) JSON() json.RawMessage {
	if len(p.all) == 0 {
		return nil
	}
	b := []byte{'{'}
	for i := range p.all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, Text(p.all[i].name)...), ':')
		b = append(b, p.all[i].value...)
	}
	return append(b, '}')
}

// Text returns a text as JSON. Bytes that are not UTF-8 become U+FFFD.
func Text(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text has no error
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// JSONNumber returns a number as JSON; null for one that is not finite.
func JSONNumber(f float64) json.RawMessage {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return json.RawMessage("null")
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64)
}

// Typed returns a text as a JSON number if it is written as one, and as a text otherwise. A number
// with leading zeros, such as a postal code, stays a text.
func Typed(text string) json.RawMessage {
	if json.Valid([]byte(text)) && text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') {
		return json.RawMessage(text)
	}
	return Text(text)
}

// Compact returns a JSON value on one line; a null if it is none.
func Compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// Members returns the members of a JSON object in their order; none if it is something else.
func Members(data json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(data))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return
		}
		for d.More() {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil {
				return
			}
			if !yield(name.(string), value) {
				return
			}
		}
	}
}
