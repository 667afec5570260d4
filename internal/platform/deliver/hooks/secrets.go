package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/process/config"
)

// SecretsFile is the name of the file of secrets.
const SecretsFile = "webhooks.json"

// Secrets keeps what must not be shown of webhooks, as one text.
type Secrets interface {
	// Load returns the text, or nil if none was saved.
	Load() ([]byte, error)
	// Save keeps another text, durably.
	Save(text []byte) error
}

// FileSecrets is a directory whose file SecretsFile its owner alone may read.
type FileSecrets string

// Load implements [Secrets].
func (dir FileSecrets) Load() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(string(dir), SecretsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Save implements [Secrets].
func (dir FileSecrets) Save(text []byte) error { return replaceFile(string(dir), SecretsFile, text) }

// secrets are those of all webhooks.
type secrets struct {
	store Secrets // nil: in memory
	all   map[string]kept
}

// kept is what is kept of a webhook.
type kept struct {
	Revision string            `json:"revision,omitempty"` // of the document that it belongs to
	Before   *kept             `json:"before,omitempty"`   // while it is not known which document is stored
	URL      string            `json:"url,omitempty"`      // if it is hidden
	Secrets  []string          `json:"secrets,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
}

// openSecrets reads the secrets, if there are any.
func openSecrets(store Secrets) (s secrets, err error) {
	s = secrets{store: store, all: map[string]kept{}}
	if store == nil {
		return s, nil
	}
	text, err := store.Load()
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s.all)
	}
	if err != nil {
		return s, fmt.Errorf("the secrets of webhooks, %s: %w", SecretsFile, err)
	}
	return s, nil
}

// keptOf returns what is kept of a webhook.
func keptOf(n *entry) kept {
	k := kept{Revision: n.revision, Headers: map[string]string{}}
	if n.lost {
		return k
	}
	if n.e.Shown().URL != n.e.URL {
		k.URL = n.e.URL
	}
	for _, secret := range n.e.Secrets {
		k.Secrets = append(k.Secrets, string(secret))
	}
	for name, value := range n.e.Headers {
		k.Headers[name] = string(value)
	}
	return k
}

func (k kept) empty() bool { return k.URL == "" && len(k.Secrets) == 0 && len(k.Headers) == 0 }

func (k kept) equal(other kept) bool {
	return k.URL == other.URL && slices.Equal(k.Secrets, other.Secrets) && maps.Equal(k.Headers, other.Headers)
}

// of returns an endpoint with the secrets that a document of a webhook has: those of its revision,
// or else the newest. It returns nil if there are none.
func (s *secrets) of(id, revision string) *webhook.Endpoint {
	k, ok := s.all[id]
	if !ok {
		return nil
	}
	if k.Before != nil && k.Revision != revision && k.Before.Revision == revision {
		k = *k.Before
	}
	e := &webhook.Endpoint{URL: k.URL, Headers: map[string]config.Secret{}}
	if k.URL != "" {
		e.Format = webhook.Slack // the form whose URL is hidden
	}
	for _, text := range k.Secrets {
		e.Secrets = append(e.Secrets, config.Secret(text))
	}
	for name, value := range k.Headers {
		e.Headers[name] = config.Secret(value)
	}
	return e
}

// put keeps the secrets of a webhook whose document will be stored, durably, beside those of the
// document that it replaces, if there is one. It reports whether settle has to be called once the
// document is stored.
func (s *secrets) put(n, old *entry) (both bool, err error) {
	k, all := keptOf(n), maps.Clone(s.all)
	if had, ok := all[n.e.ID]; old != nil {
		before := keptOf(old)
		if had.Before == nil && k.equal(had) && k.equal(before) {
			return false, nil
		}
		k.Before = &before
	} else if !ok && k.empty() {
		return false, nil
	}
	all[n.e.ID] = k
	return k.Before != nil, s.replace(all)
}

// settle forgets the secrets of the document that another one has replaced.
func (s *secrets) settle(id string) error {
	all := maps.Clone(s.all)
	k := all[id]
	k.Before = nil
	all[id] = k
	if k.empty() {
		delete(all, id)
	}
	return s.replace(all)
}

// remove forgets the secrets of a webhook.
func (s *secrets) remove(id string) error {
	if _, ok := s.all[id]; !ok {
		return nil
	}
	all := maps.Clone(s.all)
	delete(all, id)
	return s.replace(all)
}

// replace writes other secrets, all of them or none.
func (s *secrets) replace(all map[string]kept) error {
	if s.store != nil && (len(all) > 0 || len(s.all) > 0) {
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if err := s.store.Save(text); err != nil {
			return fmt.Errorf("the secrets of webhooks, %s: %w", SecretsFile, err)
		}
	}
	s.all = all
	return nil
}

// replaceFile puts a file of mode 0600 in the place of another one, durably. The directory is made
// with mode 0700.
func replaceFile(dir, name string, text []byte) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, name+".new-") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return deliver.SyncDir(dir)
}
