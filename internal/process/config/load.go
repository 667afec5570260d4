package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"paddock/internal/process/spelling"
	"paddock/internal/process/strictyaml"
)

// envPrefix begins the variables that set keys.
const envPrefix = "PADDOCK_"

// Sources are the sources of the settings. Each overrides those before it.
type Sources struct {
	File    string            // path of the YAML file; "" is none
	Environ []string          // KEY=value, as of os.Environ
	Flags   map[string]string // by key, such as "http.listen"; only the flags that were given

	// Others holds the readers of file sections that are not part of Config, by name. In these
	// sections ${NAME} stands for a variable of the environment.
	Others map[string]func(*strictyaml.Node)

	// Extras holds the readers of further keys of sections that are part of Config, by the name of
	// the section. They have no variable and no flag, and ${NAME} is replaced in them too.
	Extras map[string]Extra
}

// Extra reads keys of a section that only a file has.
type Extra struct {
	Keys []string              // named in the error about an unknown key
	Has  func(key string) bool // reports whether a key is read
	Read func(c *Config, entries []strictyaml.Entry)
}

// lookup returns a variable of the environment.
func (s *Sources) lookup(name string) (value string, ok bool) {
	for _, entry := range s.Environ {
		if rest, found := strings.CutPrefix(entry, name+"="); found {
			value, ok = rest, true // the last one counts
		}
	}
	return value, ok
}

// Load reads the settings over the defaults and validates them. The error joins all errors and
// wraps ErrInvalid. A file that cannot be read is an error too.
func Load(s Sources) (*Config, error) {
	c := Default()
	c.origins = map[string]string{}
	var faults []error
	if s.File != "" {
		text, err := readFile(s.File)
		if err != nil {
			return nil, err
		}
		faults = c.readYAML(&s, text)
	}
	faults = append(faults, c.readEnviron(s.Environ)...)
	faults = append(faults, c.readFlags(s.Flags)...)
	if err := errors.Join(faults...); err != nil {
		return nil, err // Validate would report the same values again
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// readFile reads the file, if it is not larger than any sensible one.
func readFile(path string) ([]byte, error) {
	text, err := strictyaml.ReadFile(path)
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err // the place has the path already
	}
	if err != nil {
		return nil, &Error{Place: path, Err: err}
	}
	return text, nil
}

// set gives a key its value and records the place of the value.
func (c *Config) set(key, text, place string) error {
	s, err := find(settings(c), key)
	if err != nil {
		return &Error{Place: place, Err: err}
	}
	c.origins[key] = place
	if err := parse(s.field, text); err != nil {
		return &Error{Place: place, Key: key, Err: err}
	}
	return nil
}

// readEnviron sets the keys whose variables exist. An empty variable counts as absent, as for the
// other flags.
func (c *Config) readEnviron(environ []string) (faults []error) {
	keys := map[string]string{}
	for _, s := range settings(c) {
		keys[envName(s.key)] = s.key
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix) {
			continue
		}
		if key, ok := keys[name]; ok {
			faults = append(faults, c.set(key, value, "$"+name))
		} else if near := spelling.Nearest(name, slices.Sorted(maps.Keys(keys))); near != "" {
			c.Warnings = append(c.Warnings, fmt.Sprintf("$%s sets nothing here; did you mean $%s?", name, near))
		}
	}
	return faults
}

func (c *Config) readFlags(flags map[string]string) (faults []error) {
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		faults = append(faults, c.set(key, flags[key], "command line"))
	}
	return faults
}

// envName returns the variable for a key: PADDOCK_HTTP_LISTEN for http.listen.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// setting is one field of a Config.
type setting struct {
	key     string // "http.listen"
	field   any    // pointer to it
	reloads bool   // see Reloads
}

// settings lists the fields of c in the order of the structs.
func settings(c *Config) (all []setting) {
	root := reflect.ValueOf(c).Elem()
	for i := range root.NumField() {
		section := root.Type().Field(i)
		if !section.IsExported() || section.Type.Kind() != reflect.Struct {
			continue
		}
		for j := range section.Type.NumField() {
			if section.Type.Field(j).Tag.Get("yaml") == "-" {
				continue // read in its own way
			}
			all = append(all, setting{
				key:   section.Tag.Get("yaml") + "." + section.Type.Field(j).Tag.Get("yaml"),
				field: root.Field(i).Field(j).Addr().Interface(),

				reloads: section.Type.Field(j).Tag.Get("reload") != "",
			})
		}
	}
	return all
}

// Differences returns the keys whose values differ from those of another configuration, in the
// order of the structs. It leaves access.keys out.
func (c *Config) Differences(other *Config) (keys []string) {
	others := settings(other)
	for i, s := range settings(c) {
		if !reflect.DeepEqual(s.field, others[i].field) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// Restarts returns the keys of a section whose values differ from those of another configuration,
// and that a running platform does not take over. "" stands for all sections.
func (c *Config) Restarts(other *Config, section string) []string {
	return slices.DeleteFunc(c.Differences(other), func(key string) bool {
		return Reloads(key) || section != "" && !strings.HasPrefix(key, section+".")
	})
}

// Reloads reports whether a running platform takes over another value of a key.
func Reloads(key string) bool {
	s, err := find(settings(Default()), key)
	return err == nil && s.reloads
}

// Value is a key with its value, as a text without secrets.
type Value struct {
	Key, Text string
	Place     string // of the value; "" is the default
}

// Values lists all keys in the order of the structs, and behind them the keys of a file alone
// that were given. The values of the latter are not told.
func (c *Config) Values() (all []Value) {
	known := map[string]bool{}
	for _, s := range settings(c) {
		known[s.key] = true
		all = append(all, Value{s.key, fmt.Sprint(reflect.ValueOf(s.field).Elem()), c.origins[s.key]})
	}
	for _, key := range slices.Sorted(maps.Keys(c.origins)) {
		if !known[key] {
			all = append(all, Value{key, "(given)", c.origins[key]})
		}
	}
	return all
}

// sections lists the sections, in the order of the struct.
func sections(known []setting) (names []string) {
	for _, s := range known {
		name, _, _ := strings.Cut(s.key, ".")
		names = append(names, name)
	}
	return slices.Compact(names)
}

// find returns the setting of a key. The error suggests a similar key, or those of the section.
func find(known []setting, key string) (setting, error) {
	section, _, _ := strings.Cut(key, ".")
	var keys, siblings []string
	for _, s := range known {
		if s.key == key {
			return s, nil
		}
		keys = append(keys, s.key)
		if strings.HasPrefix(s.key, section+".") {
			siblings = append(siblings, s.key)
		}
	}
	if near := spelling.Nearest(key, keys); near != "" {
		return setting{}, fmt.Errorf("unknown key %s; did you mean %s?", key, near)
	}
	if len(siblings) == 0 {
		siblings = sections(known)
	}
	return setting{}, fmt.Errorf("unknown key %s; there are %s", key, strings.Join(siblings, ", "))
}
