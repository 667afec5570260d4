// Package monitordiff compares the answers of the bus to monitoring requests with those of the
// reference server, after the same traffic: every field that the reference always has must be
// there, of a type that its own structures take, and the counts of both must be equal.
package monitordiff

import (
	"reflect"
	"strings"
)

// Missing lists the fields of a structure of the reference that are always there
// and that got, which was decoded from JSON, has not: as paths between dots.
func Missing(want reflect.Type, got any) []string {
	switch want.Kind() {
	case reflect.Pointer:
		return Missing(want.Elem(), got)
	case reflect.Slice:
		list, _ := got.([]any)
		var missing []string
		for _, v := range list {
			missing = append(missing, Missing(want.Elem(), v)...)
		}
		return missing
	case reflect.Struct:
		if object, ok := got.(map[string]any); ok {
			return missingFields(want, object)
		}
	}
	return nil
}

func missingFields(want reflect.Type, got map[string]any) []string {
	var missing []string
	for i := range want.NumField() {
		f := want.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			missing = append(missing, Missing(f.Type, any(got))...)
			continue
		}
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		v, there := got[name]
		if !there && !strings.Contains(options, "omit") {
			missing = append(missing, name)
		}
		for _, below := range Missing(f.Type, v) {
			missing = append(missing, name+"."+below)
		}
	}
	return missing
}
