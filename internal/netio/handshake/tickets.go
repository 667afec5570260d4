package handshake

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// ticketEach is the time for which a key makes new tickets. maxTicketKeys is the number of kept
	// keys, including the present one, so a ticket is valid for two to three days.
	ticketEach    = 24 * time.Hour
	maxTicketKeys = 3
	// ticketLook is the interval of checks of the present key's age.
	ticketLook = time.Hour
)

// Tickets holds the keys of TLS session tickets in a file, so that clients that reconnect after a
// restart of the server, all at once, need no full handshake. The file is as secret as the server's
// key: with it one can pose as any client that is listed by a key.
type Tickets struct {
	path string
	log  *slog.Logger

	holder tls.Config // encrypts and decrypts with the keys

	mu   sync.Mutex
	keys []ticketKey // guarded by mu; newest first
}

// ticketKey is one key.
type ticketKey struct {
	made time.Time
	key  [32]byte
}

// OpenTickets reads the keys of a file. A file that is missing, or that other users can read, is
// replaced. If the file cannot be written, clients need full handshakes after a restart.
func OpenTickets(path string, log *slog.Logger) *Tickets {
	t := &Tickets{path: path, log: log}
	keys, err := readTickets(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("session tickets start with a new key", "error", err)
	}
	t.keys = keys
	t.rotate(time.Now())
	return t
}

// readTickets reads lines of a time and a key.
func readTickets(path string) (keys []ticketKey, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > 4<<10:
		return nil, fmt.Errorf("%s: mode %v, want a small file of mode 0600", path, info.Mode())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		made, digits, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		var k ticketKey
		if err := k.made.UnmarshalText(made); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if n, err := hex.Decode(k.key[:], digits[:min(len(digits), 64)]); err != nil || n != len(k.key) {
			return nil, fmt.Errorf("%s: malformed key", path)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// rotate makes a new key if the present one is old, and installs the keys.
func (t *Tickets) rotate(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.keys[:0]
	for _, k := range t.keys {
		if age := now.Sub(k.made); age >= 0 && age < maxTicketKeys*ticketEach && len(kept) < maxTicketKeys {
			kept = append(kept, k)
		}
	}
	t.keys = kept
	if len(t.keys) == 0 || now.Sub(t.keys[0].made) >= ticketEach {
		k := ticketKey{made: now.UTC().Truncate(time.Second)}
		_, _ = rand.Read(k.key[:]) // never fails
		t.keys = append([]ticketKey{k}, t.keys[:min(len(t.keys), maxTicketKeys-1)]...)
		if err := t.write(); err != nil {
			t.log.Warn("session tickets do not outlive this process", "error", err)
		}
	}
	use := make([][32]byte, len(t.keys))
	for i, k := range t.keys {
		use[i] = k.key
	}
	t.holder.SetSessionTicketKeys(use)
}

// write replaces the file. t.mu is held.
func (t *Tickets) write() error {
	var text []byte
	for _, k := range t.keys {
		text = fmt.Appendf(text, "%s %x\n", k.made.Format(time.RFC3339), k.key)
	}
	beside := t.path + "~"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(beside, text, 0o600); err != nil {
		return err
	}
	return os.Rename(beside, t.path)
}

// Install makes a server's sessions use the present keys at any time.
func (t *Tickets) Install(config *tls.Config) {
	config.WrapSession = func(cs tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		return t.holder.EncryptTicket(cs, s)
	}
	config.UnwrapSession = func(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
		return t.holder.DecryptTicket(ticket, cs)
	}
}

// Run rotates until ctx ends.
func (t *Tickets) Run(ctx context.Context) error {
	ticker := time.NewTicker(ticketLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			t.rotate(now)
		}
	}
}
