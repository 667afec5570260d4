package config

import (
	"maps"
	"slices"

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
			file.Env = s.lookup
			read(section.Value)
			file.Env = nil
			continue
		}
		if !slices.Contains(known, section.Key) {
			section.Unknown(append(known, slices.Sorted(maps.Keys(s.Others))...))
			continue
		}
		for _, e := range section.Value.Entries(section.Key) {
			key := section.Key + "." + e.Key
			if _, err := find(keys, key); err != nil { // whatever its value is
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
	}
	return append(faultsOf(file), faults...)
}

// faultsOf returns the errors of the file's form.
func faultsOf(f *strictyaml.File) (faults []error) {
	for _, fault := range f.Faults() {
		faults = append(faults, &Error{Place: fault.Place, Err: fault.Err})
	}
	return faults
}
