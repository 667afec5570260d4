package bundle

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"paddock/internal/process/config"
)

// hidden stands in place of a secret, and hiddenPlace in place of coordinates.
const (
	hidden      = "[hidden]"
	hiddenPlace = "[place]"
)

// leastKnown is the length, in bytes, from which on a known secret is looked for everywhere. A
// shorter one would be found in other words.
const leastKnown = 4

// Redactor takes secrets out of texts: the ones it is told, and everything that has the form of
// one. Without Positions it takes out coordinates too.
type Redactor struct {
	Positions bool

	known []string // the longest first, as one may be a part of another
}

// secretNames are the names of fields and parameters whose values are secret.
const secretNames = `key|token|secrets?|password|passwd|pass|pwd|passphrase|signature|sig|api_?key|access_?token|auth_?token|client_?secret|authorization|credentials|seed|cookie`

// form is a form of texts. $1 is what stays before the text, and $2 what stays behind it.
type form struct {
	needs string // a part of each such text: without it the pattern is not tried; "": it always is
	*regexp.Regexp
}

// patterns are the forms of secrets.
var patterns = []form{
	{`PRIVATE KEY`, regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?-----END [A-Z ]*PRIVATE KEY-----`)},
	{`://`, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"'\\]+(@)`)},                                    // the credentials of a URL, up to the last @ before the path
	{`/in/`, regexp.MustCompile(`(/in/[a-z]+/)[^/?\s"'\\]+`)},                                                    // the key in a device's address
	{`://`, regexp.MustCompile(`(https?://[^/\s"'\\?]+/(?:services|hooks?|webhooks?|api/webhooks)/)[^\s"'\\]+`)}, // such addresses are secrets
	{`"`, regexp.MustCompile(`(?i)(\b(?:` + secretNames + `)=\\?")[^"\\]+`)},
	{`=`, regexp.MustCompile(`(?i)((?:^|[?&;\s"'({,])(?:` + secretNames + `)=\\?"?)[^&\s"',;)}\\]+`)},
	{`:`, regexp.MustCompile(`(?i)(\\?"(?:` + secretNames + `)\\?"\s*:\s*\\?")[^"\\]+`)},
	{` `, regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}`)},
	{`pdk_`, regexp.MustCompile(`(\bpdk_)[A-Za-z0-9_-]{8,}`)},
	{`whsec_`, regexp.MustCompile(`(\bwhsec_)[A-Za-z0-9+/=]{8,}`)},
	{`S`, regexp.MustCompile(`(\bS[UAOC])[A-Z2-7]{56}\b`)}, // seeds of nkeys
	{`$2`, regexp.MustCompile(`(\$2[abxy]\$)[0-9]{2}\$[./A-Za-z0-9]{53}`)},
}

// places are the forms of coordinates.
var places = []form{
	{``, regexp.MustCompile(`(?i)(\\?"?\b(?:lat|lon|lng|long|latitude|longitude)\b\\?"?\s*[:=]\s*)-?[0-9]+(?:\.[0-9]+)?`)},
	{`,`, regexp.MustCompile(`(\[?\s*)-?[0-9]{1,3}\.[0-9]{3,}\s*,\s*-?[0-9]{1,3}\.[0-9]{3,}`)},
}

// Hide adds secrets that are known. Empty and very short ones are left out.
func (r *Redactor) Hide(secrets ...string) {
	for _, s := range secrets {
		if len(s) >= leastKnown && !slices.Contains(r.known, s) && s != hidden {
			r.known = append(r.known, s)
			if escaped := url.QueryEscape(s); escaped != s {
				r.known = append(r.known, escaped)
			}
		}
	}
	slices.SortFunc(r.known, func(a, b string) int { return len(b) - len(a) })
}

// HideIn adds the secrets within settings: values of config.Secret, and texts of fields with the
// name of a secret, at any depth.
func (r *Redactor) HideIn(settings ...any) {
	w := &walk{met: map[uintptr]bool{}}
	for _, s := range settings {
		w.look(reflect.ValueOf(s), false)
	}
	r.Hide(w.found...)
}

// walk looks for secrets in values.
type walk struct {
	met   map[uintptr]bool // pointers
	found []string
}

var (
	secretType = reflect.TypeFor[config.Secret]()
	secretName = regexp.MustCompile(`(?i)^(.*(password|passwd|token|secret|seed)s?|headers)$`)
)

// look adds the secrets of a value; secret reports that it is one itself.
func (w *walk) look(v reflect.Value, secret bool) {
	switch v.Kind() {
	case reflect.String:
		if secret || v.Type() == secretType {
			w.found = append(w.found, v.String())
		}
	case reflect.Pointer:
		if !v.IsNil() && !w.met[v.Pointer()] {
			w.met[v.Pointer()] = true
			w.look(v.Elem(), secret)
		}
	case reflect.Interface:
		w.look(v.Elem(), secret)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			w.look(v.Index(i), secret)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			w.look(it.Value(), secret || it.Key().Kind() == reflect.String && secretName.MatchString(it.Key().String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.look(v.Field(i), secret || secretName.MatchString(v.Type().Field(i).Name))
		}
	}
}

// Text returns a text without secrets, and without coordinates unless Positions is set.
func (r *Redactor) Text(text string) string {
	for _, s := range r.known {
		text = strings.ReplaceAll(text, s, hidden)
	}
	text = replace(text, patterns, "${1}"+hidden+"${2}")
	if r.Positions {
		return text
	}
	return replace(text, places, "${1}"+hiddenPlace)
}

func replace(text string, forms []form, with string) string {
	for _, f := range forms {
		if strings.Contains(text, f.needs) {
			text = f.ReplaceAllString(text, with)
		}
	}
	return text
}
