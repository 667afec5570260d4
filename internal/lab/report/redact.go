package report

import (
	"net/url"
	"strings"
)

// hidden stands for what is not shown.
const hidden = "xxxxx"

// secretFields are the header fields whose values are nobody else's business.
var secretFields = []string{"authorization", "cookie", "x-api-key", "x-auth-token"}

// Redact gives a command line as it may be kept: without the values of header fields that
// let people in, and without the passwords of URLs.
func Redact(args []string) []string {
	clean := make([]string, len(args))
	for i, arg := range args {
		clean[i] = redact(arg)
	}
	return clean
}

func redact(arg string) string {
	if name, _, ok := strings.Cut(arg, ":"); ok {
		for _, secret := range secretFields {
			if strings.HasSuffix(strings.ToLower(strings.TrimSpace(name)), secret) {
				return name + ": " + hidden
			}
		}
	}
	return RedactURL(arg)
}

// RedactURL gives a URL without its password; what is none as it is.
func RedactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User == nil {
		return text
	}
	if _, has := u.User.Password(); !has {
		return text
	}
	return u.Redacted()
}
