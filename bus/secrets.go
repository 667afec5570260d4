package bus

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

// maxVerified is how many secrets are remembered as verified.
const maxVerified = 4096

// hashed is how a bcrypt hash begins.
var hashed = regexp.MustCompile(`^\$2[abxy]\$\d{2}\$`)

func isHash(secret string) bool {
	return secret != "" && secret[0] == '$' && hashed.MatchString(secret)
}

// sameSecret compares in constant time: hashes have one length, whatever was sent.
func sameSecret(given, want string) bool {
	g, w := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

// hasher compares secrets with bcrypt hashes, which takes a tenth of a second of a processor each:
// not more at once than leave one processor to the others. Verified secrets are remembered under a
// key that lives as long as the process, so that all clients coming back at once do not wait for
// each other.
type hasher struct {
	turns chan struct{}
	key   [sha256.Size]byte

	mu       sync.Mutex
	verified map[[sha256.Size]byte]struct{}
}

func newHasher() *hasher {
	h := &hasher{
		turns:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		verified: make(map[[sha256.Size]byte]struct{}),
	}
	rand.Read(h.key[:]) // never fails
	return h
}

// known reports whether the secret was found to be the hash's before.
func (h *hasher) known(given, hash string) bool {
	sum := h.sum(given, hash)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.verified[sum]
	return ok
}

// matches waits for a turn and compares. It gives up, with ok = false, when one
// of the channels is closed first.
func (h *hasher) matches(given, hash string, stop1, stop2 <-chan struct{}) (same, ok bool) {
	select {
	case h.turns <- struct{}{}:
	case <-stop1:
		return false, false
	case <-stop2:
		return false, false
	}
	defer func() { <-h.turns }()
	if h.known(given, hash) { // others of that name were first
		return true, true
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

// sum stands for a secret and its hash.
func (h *hasher) sum(given, hash string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, h.key[:])
	mac.Write([]byte(hash))
	mac.Write([]byte{0})
	mac.Write([]byte(given))
	mac.Sum(sum[:0])
	return sum
}

// nonceBytes is how many random bytes a client with an nkey has to sign; as text
// they are 15 characters.
const nonceBytes = 11

func newNonce() string {
	var b [nonceBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// signed reports whether sig, in base64, is the signature of nonce by the key of
// a user. A connection without a nonce cannot have one.
func signed(public, nonce, sig string) bool {
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
