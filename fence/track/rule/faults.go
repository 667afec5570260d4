package rule

import (
	"fmt"
	"strings"
)

// maxFaults bounds the faults that Faults lists.
const maxFaults = 20

// Fault is an error in a rule.
type Fault struct {
	Field string // path of the field, such as dwell.after; "" for the rule as a whole
	Place string // in a file, such as rules.yaml:12:5; "" if there is none
	Err   error
}

func (f *Fault) Error() string {
	var b strings.Builder
	for _, s := range []string{f.Place, f.Field} {
		if s != "" {
			b.WriteString(s + ": ")
		}
	}
	return b.String() + f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// Faults are all the errors of a text, the first 20 in full.
type Faults struct {
	List []*Fault
	More int // that are not in List
}

func (f *Faults) Error() string {
	var b strings.Builder
	for i, fault := range f.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(fault.Error())
	}
	if f.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", f.More)
	}
	return b.String()
}

// Unwrap returns the faults for errors.Is and errors.As.
func (f *Faults) Unwrap() []error {
	all := make([]error, len(f.List))
	for i, fault := range f.List {
		all[i] = fault
	}
	return all
}

func (f *Faults) add(fault *Fault) {
	if len(f.List) == maxFaults {
		f.More++
		return
	}
	f.List = append(f.List, fault)
}

func (f *Faults) addf(field, format string, args ...any) {
	f.add(&Fault{Field: field, Err: fmt.Errorf(format, args...)})
}

// count returns the number of faults.
func (f *Faults) count() int { return len(f.List) + f.More }

// err returns f as an error, or nil without faults.
func (f *Faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	return f
}
