package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTime      = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
	headerReplay    = "Paddock-Replay"
)

// secretPrefix begins the text of a secret, and signaturePrefix that of a symmetric signature.
const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
)

// The bounds of a secret in bytes, as the specification gives them.
const (
	minSecret = 24
	longest   = 64
)

// Tolerance is the greatest age of a request that Verify accepts, and how far ahead its time may
// be.
const Tolerance = 5 * time.Minute

// Secret is a key of signatures.
type Secret []byte

// ParseSecret reads the text of a secret: whsec_ and the base64 of 24 to 64 bytes.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return nil, errors.New("a secret begins with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("behind whsec_ a secret is base64")
	}
	if len(key) < minSecret || len(key) > longest {
		return nil, fmt.Errorf("a secret of %d bytes: %d to %d", len(key), minSecret, longest)
	}
	return key, nil
}

// NewSecret returns the text of a random secret.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// sign returns the signature of a request.
func (s Secret) sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return signaturePrefix + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Sign sets the headers of a request: one signature for each secret, and none without any.
func Sign(h http.Header, id string, at time.Time, body []byte, secrets []Secret) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	h.Set(headerID, id)
	h.Set(headerTime, timestamp)
	var signatures []string
	for _, s := range secrets {
		signatures = append(signatures, s.sign(id, timestamp, body))
	}
	if len(signatures) > 0 {
		h.Set(headerSignature, strings.Join(signatures, " "))
	}
}

// Verify checks the signature of a request, and its time. The error says what is wrong.
func Verify(h http.Header, body []byte, secret Secret, now time.Time) error {
	id, timestamp, signatures := h.Get(headerID), h.Get(headerTime), h.Get(headerSignature)
	if id == "" || timestamp == "" || signatures == "" {
		return errors.New("it is not signed: webhook-id, webhook-timestamp or webhook-signature is missing")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fmt.Errorf("webhook-timestamp %.32q is no number of seconds", timestamp)
	}
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > Tolerance {
		return fmt.Errorf("webhook-timestamp is %v from this machine's clock, at most %v are accepted", off.Truncate(time.Second), Tolerance)
	}
	want := secret.sign(id, timestamp, body)
	for given := range strings.SplitSeq(signatures, " ") {
		if hmac.Equal([]byte(given), []byte(want)) {
			return nil
		}
	}
	return errors.New("no signature is of this secret and this body")
}
