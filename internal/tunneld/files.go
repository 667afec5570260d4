package tunneld

import "path/filepath"

// locate makes the names of files those of the directory of the configuration that has
// them.
func (s *Settings) locate(dir string) {
	for _, name := range []*string{
		&s.Serve.Cert, &s.Serve.Key, &s.Serve.Identity,
		&s.Connect.Cert, &s.Connect.Key, &s.Connect.RootCA, &s.Connect.TokenFile,
		&s.Serve.Control,
	} {
		if *name == noControl {
			continue
		}
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
}
