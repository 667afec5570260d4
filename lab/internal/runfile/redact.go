package runfile

import (
	"regexp"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "REDACTED"

// secretName matches the names of headers, flags and URL parameters whose values are secrets.
const secretName = `[\w-]*(?:authorization|cookie|token|secret|passw(?:or)?d|api-?key|credential|signature)[\w-]*`

// secretEnd matches other names of headers and URL parameters whose values are secrets. A flag of
// such a name may have that of a file as the next argument.
const secretEnd = `(?:[\w-]*[_-])?(?:key|auth)|`

var (
	// secretHeader is "Authorization: Basic ...", whatever stands before it.
	secretHeader = regexp.MustCompile(`(?i)\b((?:` + secretEnd + secretName + `)\s*:\s*).*`)
	// secretPair is "password=..." in a query or a flag.
	secretPair = regexp.MustCompile(`(?i)(\b(?:pass|sig|jwt|` + secretEnd + secretName + `)=)[^&\s#]*`)
	// secretFlag is "--password", whose value is the next argument.
	secretFlag = regexp.MustCompile(`(?i)^--?(?:pass|` + secretName + `)$`)
	// userInfo matches the part of a URL before the host: a password, or a token.
	userInfo = regexp.MustCompile(`(\b[a-zA-Z][\w+.-]*://)[^/?#\s]*@`)
	// bareUserInfo is the same in an argument that is a URL without a scheme.
	bareUserInfo = regexp.MustCompile(`^[^-/?#\s@][^/?#\s@]*@([\w.-]+|\[[\w.:%]+\])(:\d+)?($|[/?#])`)
)

// Redact returns arguments without secrets: without the values of headers and parameters such as
// Authorization, Cookie or password, and without the user information of URLs. flags are more flags
// whose values are secrets, as "-A".
func Redact(argv []string, flags ...string) []string {
	safe := make([]string, len(argv))
	hide := false
	for i, a := range argv {
		switch {
		case hide:
			safe[i], hide = redacted, false
		case secretFlag.MatchString(a) || slices.Contains(flags, a):
			safe[i], hide = a, true
		default:
			safe[i] = redactText(bareUserInfo.ReplaceAllString(a, redacted+"@${1}${2}${3}"))
			for _, f := range flags { // -Auser:password
				if len(f) == 2 && strings.HasPrefix(a, f) {
					safe[i] = f + redacted
				}
			}
		}
	}
	return safe
}

// redactText leaves out the secrets of any text, line by line.
func redactText(s string) string { return string(redactBytes([]byte(s))) }

func redactBytes(b []byte) []byte {
	b = userInfo.ReplaceAll(b, []byte("${1}"+redacted+"@"))
	b = secretPair.ReplaceAll(b, []byte("${1}"+redacted))
	return secretHeader.ReplaceAll(b, []byte("${1}"+redacted))
}
