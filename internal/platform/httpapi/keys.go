package httpapi

import (
	"errors"
	"net/http"
	"time"

	"paddock/internal/process/keyring"
)

// keyJSON is a key without its secret. The hash is not told either: it lets a wire client in.
type keyJSON struct {
	Name    string    `json:"name"`
	Verbs   []string  `json:"verbs"`
	Fleets  []string  `json:"fleets,omitempty"`
	Sets    []string  `json:"sets,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Used    time.Time `json:"used,omitzero"`  // last, since the process began
	File    bool      `json:"file,omitempty"` // of the configuration file
	Expired bool      `json:"expired,omitempty"`
	Secret  string    `json:"secret,omitempty"` // told once, when it is made
}

func describeKey(k keyring.Listed, secret string) keyJSON {
	return keyJSON{
		Name: k.Name, Verbs: k.Verbs, Fleets: k.Fleets, Sets: k.Sets, Expires: k.Expires, Created: k.Created, Used: k.Used,
		File: k.File, Expired: k.Expired, Secret: secret,
	}
}

func (a *API) getKeys(w http.ResponseWriter, _ *http.Request) error {
	list := struct {
		Keys []keyJSON `json:"keys"`
	}{[]keyJSON{}}
	for _, k := range a.cfg.Keys.List() {
		list.Keys = append(list.Keys, describeKey(k, ""))
	}
	return writeJSON(w, http.StatusOK, &list)
}

func (a *API) getKey(w http.ResponseWriter, r *http.Request) error {
	return a.tellKey(w, http.StatusOK, r.PathValue("name"), "")
}

func (a *API) tellKey(w http.ResponseWriter, status int, name, secret string) error {
	k, ok := a.cfg.Keys.Get(name)
	if !ok {
		return noKey(name)
	}
	return writeJSON(w, status, describeKey(k, secret))
}

func noKey(name string) error {
	return fail(http.StatusNotFound, "no key %.64q; GET /v1/keys lists them", name)
}

// keyChange is the body of a request that adds or changes a key. Absent members change nothing.
type keyChange struct {
	Name    string          `json:"name"`
	Verbs   *[]string       `json:"verbs"`
	Fleets  *[]string       `json:"fleets"`
	Sets    *[]string       `json:"sets"`
	Expires *string         `json:"expires"` // "" is never
	SHA256  *keyring.Digest `json:"sha256"`  // of a secret that the sender has made
}

func (a *API) keyBody(w http.ResponseWriter, r *http.Request) (c keyChange, err error) {
	l := a.memory.Lease()
	defer l.Release()
	err = a.readJSON(w, r, l, &c)
	return c, err
}

// apply makes the change to a key.
func (c *keyChange) apply(k *keyring.Key) error {
	for _, f := range []struct{ from, to *[]string }{{c.Verbs, &k.Verbs}, {c.Fleets, &k.Fleets}, {c.Sets, &k.Sets}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if c.SHA256 != nil {
		k.SHA256 = *c.SHA256
	}
	switch {
	case c.Expires == nil:
	case *c.Expires == "":
		k.Expires = time.Time{}
	default:
		t, err := time.Parse(time.RFC3339, *c.Expires)
		if err != nil {
			return fail(http.StatusBadRequest, "body: expires %.64q: not a time of RFC 3339 such as 2026-12-31T00:00:00Z", *c.Expires)
		}
		k.Expires = t
	}
	return nil
}

// postKey adds a key. Its secret is in this answer alone.
func (a *API) postKey(w http.ResponseWriter, r *http.Request) error {
	c, err := a.keyBody(w, r)
	if err != nil {
		return err
	}
	k, secret := keyring.Key{Name: c.Name, Created: time.Now().UTC().Truncate(time.Second)}, ""
	if err := c.apply(&k); err != nil {
		return err
	}
	if c.SHA256 == nil {
		secret = keyring.NewSecret()
		k.SHA256 = keyring.DigestOf(secret)
	}
	err = a.changeKey(r, "key.add", k.Name, func(keys *keyring.Ring) error { return keys.Add(k) })
	if err != nil {
		return err
	}
	return a.tellKey(w, http.StatusCreated, k.Name, secret)
}

// patchKey changes members of a key. Streams of the key end, and begin again with the new ones.
func (a *API) patchKey(w http.ResponseWriter, r *http.Request) error {
	c, err := a.keyBody(w, r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	if c.Name != "" && c.Name != name {
		return fail(http.StatusBadRequest, "body: name %.64q is not that of the request, %.64q", c.Name, name)
	}
	err = a.changeKey(r, "key.edit", name, func(keys *keyring.Ring) error { return keys.Edit(name, c.apply) })
	if err != nil {
		return err
	}
	return a.tellKey(w, http.StatusOK, name, "")
}

// postSecret gives a key a new secret, which is in this answer alone. The old one ends.
func (a *API) postSecret(w http.ResponseWriter, r *http.Request) error {
	name, secret := r.PathValue("name"), keyring.NewSecret()
	err := a.changeKey(r, "key.secret", name, func(keys *keyring.Ring) error {
		return keys.Edit(name, func(k *keyring.Key) error {
			k.SHA256 = keyring.DigestOf(secret)
			return nil
		})
	})
	if err != nil {
		return err
	}
	return a.tellKey(w, http.StatusOK, name, secret)
}

func (a *API) deleteKey(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := a.changeKey(r, "key.delete", name, func(keys *keyring.Ring) error { return keys.Remove(name) }); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// changeKey makes a change of the keys.
func (a *API) changeKey(r *http.Request, action, name string, change func(keys *keyring.Ring) error) error {
	if a.cfg.Keys == nil {
		return fail(http.StatusNotFound, "this server has no keys")
	}
	if reason := a.cfg.Pipeline.Refusing(); reason != "" {
		return fail(http.StatusServiceUnavailable, "%s", reason)
	}
	return keyProblem(name, a.audited(r, action, name, func() error { return change(a.cfg.Keys) }))
}

func keyProblem(name string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if f, ok := errors.AsType[*keyring.FieldError](err); ok {
		return fail(http.StatusBadRequest, "body: %v", f)
	}
	switch {
	case errors.Is(err, keyring.ErrUnknown):
		return noKey(name)
	case errors.Is(err, keyring.ErrExists), errors.Is(err, keyring.ErrFile), errors.Is(err, keyring.ErrLast):
		return fail(http.StatusConflict, "%v", err)
	case errors.Is(err, keyring.ErrFull):
		return fail(http.StatusInsufficientStorage, "%v", err)
	}
	return err
}
