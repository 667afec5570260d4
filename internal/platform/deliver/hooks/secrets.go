package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

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
	URL     string            `json:"url,omitempty"` // if it is hidden
	Secrets []string          `json:"secrets,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
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

// of returns an endpoint with the secrets of a webhook, or nil if there are none.
func (s *secrets) of(id string) *webhook.Endpoint {
	k, ok := s.all[id]
	if !ok {
		return nil
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

// put keeps the secrets of a webhook, durably.
func (s *secrets) put(e *webhook.Endpoint) error {
	k := kept{Headers: map[string]string{}}
	if e.Shown().URL != e.URL {
		k.URL = e.URL
	}
	for _, secret := range e.Secrets {
		k.Secrets = append(k.Secrets, string(secret))
	}
	for name, value := range e.Headers {
		k.Headers[name] = string(value)
	}
	all := maps.Clone(s.all)
	all[e.ID] = k
	if k.URL == "" && len(k.Secrets) == 0 && len(k.Headers) == 0 {
		delete(all, e.ID)
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
