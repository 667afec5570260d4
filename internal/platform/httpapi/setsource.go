package httpapi

import (
	"time"

	"paddock/internal/platform/directory"
)

// sourceJSON is the file of a set, and its state.
type sourceJSON struct {
	File   string     `json:"file"`
	Loaded *time.Time `json:"loaded,omitempty"` // when the served contents were read
	Error  string     `json:"error,omitempty"`  // why the set differs from the file
	Since  *time.Time `json:"since,omitempty"`  // of the error
}

// files returns the state of the sets' files, or nothing if there are none.
func (a *API) files() directory.Status {
	if a.cfg.Files == nil {
		return directory.Status{}
	}
	return a.cfg.Files()
}

// describeSource describes the file of a set; nil if it has none.
func describeSource(files directory.Status, set string) *sourceJSON {
	s, ok := files.Source(set)
	if !ok {
		return nil
	}
	return sourceOf(s)
}

func sourceOf(s directory.Source) *sourceJSON {
	j := &sourceJSON{File: s.File}
	if !s.Loaded.IsZero() {
		t := s.Loaded.UTC()
		j.Loaded = &t
	}
	if s.Err != nil {
		t := s.Since.UTC()
		j.Error, j.Since = s.Err.Error(), &t
	}
	return j
}

// failing describes the files without a set, and the directory itself, as ".", if it cannot be
// read.
func (a *API) failing(files directory.Status) (failing []*sourceJSON) {
	if files.Err != nil {
		failing = append(failing, sourceOf(directory.Source{File: ".", Err: files.Err, Since: files.Since}))
	}
	for _, s := range files.Sources {
		if _, served := a.cfg.Catalog.Get(s.Set); s.Err != nil && !served {
			failing = append(failing, sourceOf(s))
		}
	}
	return failing
}
