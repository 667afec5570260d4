package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
)

// savedContext names a platform, and the key for it.
type savedContext struct {
	URL     string `json:"url"`
	KeyFile string `json:"key_file,omitempty"` // absolute; read with each command
	Key     string `json:"key,omitempty"`
}

// keyText tells where the key of a context is, without it.
func (c *savedContext) keyText() string {
	switch {
	case c.KeyFile != "":
		return c.KeyFile
	case c.Key != "":
		return "kept here"
	}
	return "-"
}

// contexts is the file of contexts.
type contexts struct {
	Current  string                   `json:"current,omitempty"`
	Contexts map[string]*savedContext `json:"contexts"`
}

const (
	// maxContexts bounds the contexts, and maxContextFile their file, in bytes.
	maxContexts    = 1000
	maxContextFile = 1 << 20
)

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// contextFile returns the path of the file: paddock/contexts.json in the user's directory for
// configuration, which is $XDG_CONFIG_HOME or ~/.config on Linux.
func contextFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "paddock", "contexts.json"), nil
}

// ContextNames returns the names of the contexts in ascending order; none if they cannot be read.
func ContextNames() []string {
	saved, err := loadContexts()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(saved.Contexts))
}

// loadContexts reads the file. Without one, or without a directory for it, there are no contexts.
func loadContexts() (*contexts, error) {
	none := &contexts{Contexts: map[string]*savedContext{}}
	file, err := contextFile()
	if err != nil {
		return none, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxContextFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	saved, err := parseContexts(text)
	if err != nil {
		return nil, usagef("%s: %w: mend or remove it", file, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 && saved.holdKeys() {
		return nil, usagef("%s: it holds keys, and its mode %04o lets other users at it: chmod 600 %s", file, mode, file)
	}
	return saved, nil
}

func parseContexts(text []byte) (*contexts, error) {
	if len(text) > maxContextFile {
		return nil, fmt.Errorf("more than %d bytes", maxContextFile)
	}
	saved := &contexts{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(saved); err != nil {
		return nil, err
	}
	if saved.Contexts == nil {
		saved.Contexts = map[string]*savedContext{}
	}
	for name, c := range saved.Contexts {
		if c == nil {
			return nil, fmt.Errorf("contexts.%s: null", name)
		}
		if err := checkURL(c.URL); err != nil {
			return nil, fmt.Errorf("contexts.%s: url %q: %w", name, c.URL, err)
		}
	}
	if saved.Current != "" && saved.Contexts[saved.Current] == nil {
		return nil, fmt.Errorf("current: there is no context %q", saved.Current)
	}
	return saved, nil
}

func (c *contexts) holdKeys() bool {
	for _, one := range c.Contexts {
		if one.Key != "" {
			return true
		}
	}
	return false
}

// save writes the file, for its owner alone. Another writer at the same moment wins or loses whole.
func (c *contexts) save() error {
	file, err := contextFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".contexts-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
