package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseJSON reads one JSON value.
func ParseJSON(text []byte) (*Value, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	r := jsonReader{json.NewDecoder(bytes.NewReader(text))}
	r.UseNumber()
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return nil, r.fault("more follows the value")
	}
	return v, nil
}

type jsonReader struct{ *json.Decoder }

func (r jsonReader) fault(what string) error {
	return syntax(Place{}, "%s, at byte %d", what, r.InputOffset())
}

func (r jsonReader) token() (json.Token, error) {
	t, err := r.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, r.fault("the JSON is not complete")
	}
	if err != nil {
		return nil, r.fault(err.Error())
	}
	return t, nil
}

func (r jsonReader) value(depth int) (*Value, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case bool:
		return &Value{Kind: Bool, Text: strconv.FormatBool(t)}, nil
	case json.Number:
		return &Value{Kind: Number, Text: t.String()}, nil
	case string:
		return &Value{Kind: Text, Text: t}, nil
	case json.Delim:
		return r.nested(t, depth+1)
	}
	return &Value{}, nil
}

func (r jsonReader) nested(open json.Delim, depth int) (*Value, error) {
	v := &Value{Kind: List}
	if open == '{' {
		v.Kind = Object
	}
	if depth > maxDepth {
		return nil, syntax(Place{}, "lists and objects nest deeper than %d, at byte %d", maxDepth, r.InputOffset())
	}
	for r.More() {
		if err := r.element(v, depth); err != nil {
			return nil, err
		}
	}
	_, err := r.token() // the end
	return v, err
}

func (r jsonReader) element(v *Value, depth int) error {
	if v.Kind == List {
		item, err := r.value(depth)
		v.Items = append(v.Items, item)
		return err
	}
	key, err := r.token()
	if err != nil {
		return err
	}
	member, err := r.value(depth)
	if err != nil {
		return err
	}
	return v.add(key.(string), member)
}

// AppendJSON appends the canonical JSON of the value: members sorted by key, no white space,
// numbers in their shortest form.
func (v *Value) AppendJSON(dst []byte) []byte {
	switch v.Kind {
	case Text:
		return AppendText(dst, v.Text)
	case Bool:
		return append(dst, v.Text...)
	case Number:
		return appendNumber(dst, v.Text)
	case List:
		dst = append(dst, '[')
		for i, item := range v.Items {
			dst = item.AppendJSON(separate(dst, i))
		}
		return append(dst, ']')
	case Object:
		return v.appendObject(dst)
	}
	return append(dst, "null"...)
}

func separate(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

func (v *Value) appendObject(dst []byte) []byte {
	sorted := slices.SortedFunc(slices.Values(v.Members), func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	dst = append(dst, '{')
	for i, m := range sorted {
		dst = append(AppendText(separate(dst, i), m.Key), ':')
		dst = m.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// AppendText appends s as a JSON string. Only quotes, backslashes and control characters are
// escaped.
func AppendText(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // texts always encode
	return append(dst, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

// isPlain reports whether a text needs no escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendNumber keeps the digits of whole numbers, which may be more than a float64 holds.
func appendNumber(dst []byte, digits string) []byte {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f != 0 && !strings.ContainsAny(digits, ".eE") {
		return append(dst, digits...)
	}
	return AppendNumber(dst, f)
}

// AppendNumber appends the shortest JSON number that is f, which is finite.
func AppendNumber(dst []byte, f float64) []byte {
	text, _ := json.Marshal(f + 0) // -0 becomes 0
	return append(dst, text...)
}
