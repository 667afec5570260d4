package platform

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
)

// firstKey names the key of an administrator that a new data directory gets.
const firstKey = "administrator"

// ownKeyName names the key of the traffic that a demo makes itself.
const ownKeyName = "demo"

// storedKeys keeps the keys of the API in the journal.
type storedKeys struct{ journal journal.Journal }

const keysName = "keys"

func (s storedKeys) Load() ([]byte, error) {
	text, err := s.journal.Get(keysName)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return text, err
}

func (s storedKeys) Save(text []byte) error {
	return s.journal.Put(journal.Value{Name: keysName, Bytes: text})
}

// auditedJournal stores entries of the audit with the changes of others.
type auditedJournal struct {
	journal.Journal
	audit *audit.Log
}

// Put implements [journal.Journal].
func (a auditedJournal) Put(values ...journal.Value) error {
	return a.Journal.Put(append(a.audit.Take(), values...)...)
}

// Change implements [journal.Journal].
func (a auditedJournal) Change(remove []journal.Span, put ...journal.Value) error {
	return a.Journal.Change(remove, append(a.audit.Take(), put...)...)
}

// openKeys reads the keys, and makes the first one.
func (p *Platform) openKeys(context.Context) (err error) {
	var store keyring.Store
	first := false
	if p.journal != nil {
		s := storedKeys{auditedJournal{p.shared, p.audit}}
		text, err := s.Load()
		if err != nil {
			return p.cfg.Failure("data.dir", err)
		}
		store, first = s, text == nil && p.member == nil
	}
	if p.keys, err = keyring.Open(store); err != nil {
		return p.cfg.Failure("data.dir", err)
	}
	keys := p.cfg.Access.Keys
	if p.opts.Demo && (p.keyRequired(p.cfg.HTTP.Listen) || p.keyRequired(p.cfg.Wire.Listen)) {
		p.ownKey = keyring.NewSecret()
		keys = append(slices.Clone(keys), keyring.Key{Name: ownKeyName, SHA256: keyring.DigestOf(p.ownKey), Verbs: keyring.PositionsWrite.Names()})
	}
	if err := p.keys.SetFile(keys); err != nil {
		return p.cfg.Fault("access.keys", err)
	}
	p.fileKeys = keys
	if !first {
		return nil
	}
	return p.addFirstKey()
}

// addFirstKey adds the key of an administrator, unless there is one of its name.
func (p *Platform) addFirstKey() error {
	if p.opts.FirstKey == nil {
		return nil
	}
	secret := keyring.NewSecret()
	err := p.audit.Record(audit.Entry{By: "first start", Action: "key.add", Object: firstKey}, func() error {
		return p.keys.Add(keyring.Key{
			Name: firstKey, SHA256: keyring.DigestOf(secret), Verbs: keyring.Admin.Names(), Created: time.Now().UTC().Truncate(time.Second),
		})
	})
	if errors.Is(err, keyring.ErrExists) {
		return nil // the file has one of that name
	}
	if err == nil {
		p.opts.FirstKey(secret)
	}
	return err
}

// replaceKeys puts other keys of the file in the place of the present ones. The error names the
// key. Then nothing has changed.
func (p *Platform) replaceKeys(keys []keyring.Key) error {
	before := map[string]keyring.Key{}
	for _, k := range p.fileKeys {
		before[k.Name] = k
	}
	var begun []*audit.Pending
	begin := func(action, name string) {
		if p.pipeline.Role() != ingest.Leader {
			return // the file of a follower is no change of the cluster
		}
		begun = append(begun, p.audit.Begin(audit.Entry{By: "file", Action: action, Object: name}))
	}
	for _, k := range keys {
		old, there := before[k.Name]
		switch delete(before, k.Name); {
		case !there:
			begin("key.add", k.Name)
		case !reflect.DeepEqual(old, k):
			begin("key.edit", k.Name)
		}
	}
	for name := range before {
		begin("key.delete", name)
	}
	err := p.keys.SetFile(keys)
	p.auditEnd(err, begun...)
	if err != nil {
		return fmt.Errorf("access.keys: %w", err)
	}
	p.fileKeys = keys
	return nil
}

func (p *Platform) closeKeys(context.Context) error {
	p.keys.Close()
	return nil
}

// keyRequired reports whether an interface asks each client for a key.
func (p *Platform) keyRequired(address string) bool { return keyRequired(p.cfg, address) }

func keyRequired(cfg *config.Config, address string) bool {
	return cfg.Access.Required || listen.Check(address, false) != nil
}

// sessionSecret returns the secret under which browsers hold sessions: nil without a data
// directory.
func (p *Platform) sessionSecret() ([]byte, error) {
	if p.journal == nil || p.sessionKey != nil {
		return p.sessionKey, nil
	}
	dir := secretsDir(p.cfg.Data.Dir)
	name := filepath.Join(dir, "session")
	secret, err := os.ReadFile(name)
	if err == nil && len(secret) == sha256.Size || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	secret = make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return secret, os.WriteFile(name, secret, 0o600)
}

// auditFiles adds the entries of sets of files.
func (p *Platform) auditFiles(put, removed []string) func(error) {
	var begun []*audit.Pending
	for action, sets := range map[string][]string{"set.put": put, "set.delete": removed} {
		for _, set := range sets {
			begun = append(begun, p.audit.Begin(audit.Entry{By: "file", Action: action, Object: set}))
		}
	}
	return func(err error) { p.auditEnd(err, begun...) }
}

// auditRules adds the entry of the files of rules and policies.
func (p *Platform) auditRules() func(error) {
	begun := p.audit.Begin(audit.Entry{By: "file", Action: "rules.put", Object: p.cfg.Sets.Dir})
	return func(err error) { p.auditEnd(err, begun) }
}

func (p *Platform) auditEnd(failure error, begun ...*audit.Pending) {
	for _, b := range begun {
		if err := b.End(failure); err != nil {
			p.log.Error("an entry of the audit is not stored", "error", err)
		}
	}
}
