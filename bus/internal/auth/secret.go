// Package auth checks the proofs that clients give of their identity: secrets and their hashes,
// signatures of nkeys, and the names in certificates.
package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"regexp"
	"runtime"
	"sync"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"
)

// maxVerified bounds the secrets that are remembered as verified.
const maxVerified = 4096

// hashed is the beginning of a bcrypt hash.
var hashed = regexp.MustCompile(`^\$2[abxy]\$\d{2}\$`)

// IsHash reports whether a configured secret is a bcrypt hash.
func IsHash(secret string) bool {
	return secret != "" && secret[0] == '$' && hashed.MatchString(secret)
}

// SameSecret compares in constant time: the compared hashes have one length for all secrets.
func SameSecret(given, want string) bool {
	g, w := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

// Hasher compares secrets with bcrypt hashes, which takes a tenth of a second of a processor each:
// not more at once than leave one processor to the others. Verified secrets are remembered under a
// key that lives as long as the process, so that all clients coming back at once do not wait for
// each other.
type Hasher struct {
	Slots chan struct{} // holds one element for each comparison that is running
	key   [sha256.Size]byte

	mu       sync.Mutex
	verified map[[sha256.Size]byte]struct{}
}

// NewHasher returns a hasher that has verified nothing yet.
func NewHasher() *Hasher {
	h := &Hasher{
		Slots:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		verified: make(map[[sha256.Size]byte]struct{}),
	}
	rand.Read(h.key[:]) // never fails
	return h
}

// Quick compares a secret where that takes no work: the wanted one is plain, or the given one was
// verified before. decided is false if it has to be compared with a hash.
func (h *Hasher) Quick(given, want string) (same, decided bool) {
	if !IsHash(want) {
		return SameSecret(given, want), true
	}
	sum := h.sum(given, want)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, same = h.verified[sum]
	return same, same
}

// Matches waits for a turn and compares. It gives up, with ok = false, when one of the channels is
// closed first.
func (h *Hasher) Matches(given, hash string, stop1, stop2 <-chan struct{}) (same, ok bool) {
	select {
	case h.Slots <- struct{}{}:
	case <-stop1:
		return false, false
	case <-stop2:
		return false, false
	}
	defer func() { <-h.Slots }()
	if same, decided := h.Quick(given, hash); decided { // by another client of that name
		return same, true
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(given)) != nil {
		return false, true
	}
	sum := h.sum(given, hash)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.verified) >= maxVerified {
		clear(h.verified)
	}
	h.verified[sum] = struct{}{}
	return true, true
}

// sum returns the key under which a verified secret is remembered for a hash.
func (h *Hasher) sum(given, hash string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, h.key[:])
	mac.Write([]byte(hash))
	mac.Write([]byte{0})
	mac.Write([]byte(given))
	mac.Sum(sum[:0])
	return sum
}

// nonceBytes is the number of random bytes that a client with an nkey has to sign; as text they are
// 15 characters.
const nonceBytes = 11

// NewNonce returns a text for a client to sign.
func NewNonce() string {
	var b [nonceBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Signed reports whether sig, in base64, is the signature of nonce by the key of a user. A
// connection without a nonce cannot have one.
func Signed(public, nonce, sig string) bool {
	if nonce == "" || sig == "" {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		if raw, err = base64.StdEncoding.DecodeString(sig); err != nil {
			return false
		}
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify([]byte(nonce), raw) == nil
}
