package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"paddock/internal/process/keyring"
	"paddock/internal/process/strictyaml"
)

// Sections returns the names of a file's sections, for readers of other sections of the same file.
func Sections() []string { return sections(settings(Default())) }

// readYAML sets the keys of the file, by the same rules as the other sources. It returns all
// errors.
func (c *Config) readYAML(s *Sources, text []byte) []error {
	file, root := strictyaml.Parse(s.File, text)
	if root == nil {
		return faultsOf(file)
	}
	var faults []error
	keys := settings(c)
	known := sections(keys)
	for _, section := range root.Entries("the file") {
		if read, ok := s.Others[section.Key]; ok {
			c.origins[section.Key] = section.At.Place()
			file.Env = s.lookup
			read(section.Value)
			file.Env = nil
			continue
		}
		if !slices.Contains(known, section.Key) {
			section.Unknown(append(known, slices.Sorted(maps.Keys(s.Others))...))
			continue
		}
		extra := s.Extras[section.Key]
		rest, wrong := c.readSection(section, keys, extra)
		faults = append(faults, wrong...)
		if len(rest) > 0 {
			file.Env = s.lookup
			extra.Read(c, rest)
			file.Env = nil
		}
	}
	return append(faultsOf(file), faults...)
}

// readSection sets the keys of a section. It returns the entries that are left to extra.
func (c *Config) readSection(section strictyaml.Entry, keys []setting, extra Extra) (rest []strictyaml.Entry, faults []error) {
	for _, name := range extra.Keys {
		keys = append(slices.Clip(keys), setting{key: section.Key + "." + name})
	}
	for _, e := range section.Value.Entries(section.Key) {
		key := section.Key + "." + e.Key
		if key == "access.keys" {
			c.Access.Keys = readKeys(e.Value)
			continue
		}
		s, err := find(keys, key)
		if s.field == nil && extra.Has != nil && extra.Has(e.Key) {
			c.origins[key] = e.At.Place()
			rest = append(rest, e)
			continue
		}
		if err != nil { // whatever its value is
			faults = append(faults, &Error{Place: e.At.Place(), Err: err})
			continue
		}
		text, ok := e.Text(key)
		if !ok {
			continue
		}
		if err := c.set(key, text, e.At.Place()); err != nil {
			faults = append(faults, err)
		}
	}
	return rest, faults
}

// readKeys reads a list of keys.
func readKeys(list *strictyaml.Node) (keys []keyring.Key) {
	fields := []string{"name", "sha256", "verbs", "fleets", "sets", "expires"}
	names, secrets := map[string]string{}, map[keyring.Digest]string{} // their places
	for _, item := range list.Items("access.keys") {
		var k keyring.Key
		for _, e := range item.Entries("a key") {
			switch e.Key {
			case "verbs":
				k.Verbs = texts(e)
			case "fleets":
				k.Fleets = texts(e)
			case "sets":
				k.Sets = texts(e)
			case "name", "sha256", "expires":
				if text, ok := e.Text(e.Key); ok {
					e.Value.Check(setKeyField(&k, e.Key, text))
				}
			default:
				e.Unknown(fields)
			}
		}
		if err := k.Check(); err != nil {
			item.Check(err)
		} else if k.SHA256 == (keyring.Digest{}) {
			item.Fault("sha256 missing: paddock keys hash prints that of a secret")
		} else if other, taken := names[k.Name]; taken {
			item.Fault("name: %q is that of the key at %s too", k.Name, other)
		} else if other, taken := secrets[k.SHA256]; taken {
			item.Fault("sha256: the key at %s has this secret too", other)
		}
		names[k.Name], secrets[k.SHA256] = item.Place(), item.Place()
		keys = append(keys, k)
	}
	return keys
}

func texts(e strictyaml.Entry) (all []string) {
	for _, item := range e.Value.Items(e.Key) {
		if text, ok := item.Text(e.Key); ok {
			all = append(all, text)
		}
	}
	return all
}

func setKeyField(k *keyring.Key, field, text string) (err error) {
	switch field {
	case "name":
		k.Name = text
	case "sha256":
		err = k.SHA256.UnmarshalText([]byte(text))
	case "expires":
		if k.Expires, err = time.Parse(time.RFC3339, text); err != nil {
			err = fmt.Errorf("%q is no time such as 2026-12-31T00:00:00Z", text)
		}
	}
	return err
}

// faultsOf returns the errors of the file's form.
func faultsOf(f *strictyaml.File) (faults []error) {
	for _, fault := range f.Faults() {
		faults = append(faults, &Error{Place: fault.Place, Err: fault.Err})
	}
	return faults
}
