package keyring

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// SecretPrefix begins each secret of NewSecret, so that scanners for leaked secrets find it.
	SecretPrefix = "pdk_"
	secretBytes  = 32

	maxName  = 64
	maxNamed = 1000 // fleets or sets of a key
	maxLimit = 256  // bytes of the name of a fleet or a set
	// maxPairs bounds the pairs of a set and a fleet: each is a subject of the bus.
	maxPairs = 10_000
)

// Digest is the SHA-256 of a secret. It is as sensitive as the secret where a wire client proves
// that it knows it.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a secret.
func DigestOf(secret string) Digest { return sha256.Sum256([]byte(secret)) }

// MarshalText returns the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("sha256: want %d hexadecimal digits, not %d", hex.EncodedLen(len(d)), len(text))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return errors.New("sha256: not hexadecimal")
	}
	return nil
}

// NewSecret returns a new random secret.
func NewSecret() string {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	return SecretPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Key describes a secret.
type Key struct {
	Name    string    `json:"name"`
	SHA256  Digest    `json:"sha256"` // of the secret
	Verbs   []string  `json:"verbs"`
	Fleets  []string  `json:"fleets,omitempty"` // the only ones it is for; empty: all
	Sets    []string  `json:"sets,omitempty"`   // likewise
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Created time.Time `json:"created,omitzero"`
}

// FieldError refuses the value of a field of a key.
type FieldError struct{ Field, Reason string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

func fault(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// Check returns a *FieldError about the first invalid field.
func (k *Key) Check() error {
	if k.Name == "" || len(k.Name) > maxName || strings.Trim(k.Name, nameBytes) != "" {
		return fault("name", "%.80q: want 1 to %d letters, digits, dashes, dots and underscores", k.Name, maxName)
	}
	verbs, err := k.verbs()
	switch {
	case err != nil:
		return err
	case verbs == 0:
		return fault("verbs", "none given: use %s", strings.Join(verbNames, ", "))
	case verbs&Admin != 0 && len(k.Fleets)+len(k.Sets) > 0:
		return fault("verbs", "admin has no fleets and no sets: it is for all of them")
	case len(k.Fleets)*len(k.Sets) > maxPairs:
		return fault("sets", "%d sets and %d fleets are more than %d pairs", len(k.Sets), len(k.Fleets), maxPairs)
	}
	if err := checkLimits("fleets", k.Fleets); err != nil {
		return err
	}
	return checkLimits("sets", k.Sets)
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

func (k *Key) verbs() (all Verbs, err error) {
	for i, name := range k.Verbs {
		v, err := ParseVerb(name)
		if err != nil {
			return 0, fault(fmt.Sprintf("verbs[%d]", i), "%v", err)
		}
		all |= v
	}
	return all, nil
}

func checkLimits(field string, names []string) error {
	if len(names) > maxNamed {
		return fault(field, "%d are more than %d", len(names), maxNamed)
	}
	for i, name := range names {
		if name == "" || len(name) > maxLimit || !utf8.ValidString(name) {
			return fault(fmt.Sprintf("%s[%d]", field, i), "want 1 to %d bytes of UTF-8", maxLimit)
		}
	}
	return nil
}
