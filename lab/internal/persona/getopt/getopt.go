// Package getopt parses command lines the way older load generators do, so that habitual command
// lines keep their meaning:
//
//	-c 20   -c20   -c=20     a flag with its value
//	-kc 20  -kc20            a switch and a flag in one word
//	--timeout 2s   --timeout=2s   --time 2s
//
// Flags and operands may come in any order. "--" ends the flags, and "-" is an operand. A
// value may begin with a hyphen; one that begins with "=" stands in a word of its own.
package getopt

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Flag is one flag of a program.
type Flag struct {
	Short byte   // as in -c; 0 = it has no short form
	Long  string // as in --connections; "" = it has no long form
	Value string // name of the value in the help; "" = a switch, which takes none
	Help  string
	// Set is called for each use, in the order of the command line. A switch gets "".
	Set func(value string) error
}

// Name is the flag as it is typed: its long form, if there is one.
func (f *Flag) Name() string {
	if f.Long != "" {
		return "--" + f.Long
	}
	return "-" + string(rune(f.Short))
}

// String is the flag as errors name it: its short form, if there is one.
func (f *Flag) String() string {
	if f.Short != 0 {
		return "-" + string(rune(f.Short))
	}
	return "--" + f.Long
}

// Flags are those of one program.
type Flags []Flag

// Parse sets the flags in args, and gives the words that are none. The first word that makes
// no sense ends it with an error that names the flag.
func (fs Flags) Parse(args []string) (operands []string, err error) {
	for len(args) > 0 && err == nil {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			return append(operands, args...), nil
		case strings.HasPrefix(word, "--"):
			args, err = fs.long(word[len("--"):], args)
		case len(word) > 1 && word[0] == '-':
			args, err = fs.short(word[1:], args)
		default:
			operands = append(operands, word)
		}
	}
	return operands, err
}

// short sets the flags of one word, and gives the words that follow.
func (fs Flags) short(letters string, args []string) ([]string, error) {
	for letters != "" {
		f := fs.byLetter(letters)
		if f == nil {
			r, _ := utf8.DecodeRuneInString(letters)
			return nil, fmt.Errorf("there is no flag -%c", r)
		}
		letters = letters[1:]
		if f.Value == "" {
			if strings.HasPrefix(letters, "=") {
				return nil, fmt.Errorf("%v takes no value", f)
			}
			if err := f.set(""); err != nil {
				return nil, err
			}
			continue
		}
		if letters != "" {
			return args, f.set(strings.TrimPrefix(letters, "="))
		}
		return f.setNext(args)
	}
	return args, nil
}

// long sets one flag by its long name, which may be cut short where it stays the only one.
func (fs Flags) long(word string, args []string) ([]string, error) {
	name, value, given := strings.Cut(word, "=")
	f, err := fs.byName(name)
	switch {
	case err != nil:
		return nil, err
	case f.Value == "" && given:
		return nil, fmt.Errorf("--%s takes no value", f.Long)
	case f.Value == "" || given:
		return args, f.set(value)
	}
	return f.setNext(args)
}

func (fs Flags) byLetter(letters string) *Flag {
	for i := range fs {
		if fs[i].Short != 0 && fs[i].Short == letters[0] {
			return &fs[i]
		}
	}
	return nil
}

func (fs Flags) byName(name string) (*Flag, error) {
	var found []*Flag
	for i := range fs {
		switch f := &fs[i]; {
		case f.Long == "" || !strings.HasPrefix(f.Long, name):
		case f.Long == name:
			return f, nil
		default:
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("there is no flag --%s", name)
	case len(found) > 1:
		return nil, fmt.Errorf("--%s may be --%s or --%s", name, found[0].Long, found[1].Long)
	}
	return found[0], nil
}

// setNext sets f to the next word, and gives those behind it.
func (f *Flag) setNext(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("%v takes a value: %s", f, f.Value)
	}
	return args[1:], f.set(args[0])
}

func (f *Flag) set(value string) error {
	if err := f.Set(value); err != nil {
		return fmt.Errorf("%v: %w", f, err)
	}
	return nil
}

// On returns the setter of a switch.
func On(to *bool) func(string) error {
	return func(string) error {
		*to = true
		return nil
	}
}

// Text is a flag's value as it is; the last use counts.
func Text(to *string) func(string) error {
	return func(value string) error {
		*to = value
		return nil
	}
}

// List collects the values of a flag that may be given several times.
func List(to *[]string) func(string) error {
	return func(value string) error {
		*to = append(*to, value)
		return nil
	}
}

// Number is a whole number from least on.
func Number[N int | int64](to *N, least N) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 0)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		if N(n) < least {
			return fmt.Errorf("%d is below %d", n, least)
		}
		*to = N(n)
		return nil
	}
}

// WriteHelp writes a line for each flag, two blanks in.
func (fs Flags) WriteHelp(w io.Writer) error {
	left := make([]string, len(fs))
	width := 0
	for i := range fs {
		left[i] = fs[i].usage()
		width = max(width, len(left[i]))
	}
	for i := range fs {
		if _, err := fmt.Fprintf(w, "  %-*s  %s\n", width, left[i], fs[i].Help); err != nil {
			return err
		}
	}
	return nil
}

// usage is how a flag is typed, its long form in one column with those of others.
func (f *Flag) usage() string {
	var names []string
	if f.Short != 0 {
		names = append(names, "-"+string(rune(f.Short)))
	}
	if f.Long != "" {
		names = append(names, "--"+f.Long)
	}
	text := strings.Join(names, ", ")
	if f.Short == 0 {
		text = "    " + text
	}
	if f.Value != "" {
		text += " " + f.Value
	}
	return text
}
