package runfile_test

import (
	"slices"
	"testing"

	"paddock/lab/internal/runfile"
)

func TestRedact(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{[]string{"paddock", "bench", "http", "-c", "50", "http://h:80/a?b=c"}, []string{"paddock", "bench", "http", "-c", "50", "http://h:80/a?b=c"}},
		{[]string{"-H", "Authorization: Bearer s3cret"}, []string{"-H", "Authorization: REDACTED"}},
		{[]string{"-Hcookie:a=s3cret; b=s3cret"}, []string{"-Hcookie:REDACTED"}},
		{[]string{"--header=Proxy-Authorization: Basic s3cret"}, []string{"--header=Proxy-Authorization: REDACTED"}},
		{[]string{"-H", "X-Api-Key: s3cret"}, []string{"-H", "X-Api-Key: REDACTED"}},
		{[]string{"-H", "Accept: text/html"}, []string{"-H", "Accept: text/html"}},
		{[]string{"https://me:s3cret@host/x"}, []string{"https://REDACTED@host/x"}},
		{[]string{"nats://s3cret@host:4222,nats://u:s3cret@b"}, []string{"nats://REDACTED@host:4222,nats://REDACTED@b"}},
		{[]string{"http://h/?a=1&access_token=s3cret&z=2"}, []string{"http://h/?a=1&access_token=REDACTED&z=2"}},
		{[]string{"--password", "s3cret", "-c", "1"}, []string{"--password", "REDACTED", "-c", "1"}},
		{[]string{"--pass", "s3cret", "--pass=s3cret", "--passes", "3"}, []string{"--pass", "REDACTED", "--pass=REDACTED", "--passes", "3"}},
		{[]string{"--token=s3cret"}, []string{"--token=REDACTED"}},
		{[]string{"-A", "me:s3cret", "-c", "1"}, []string{"-A", "REDACTED", "-c", "1"}},
		{[]string{"-Ame:s3cret"}, []string{"-AREDACTED"}},
		{[]string{"me:s3cret@host:8080/x", "s3cret@host", "me:s3cret@[::1]:80"}, []string{"REDACTED@host:8080/x", "REDACTED@host", "REDACTED@[::1]:80"}},
		{[]string{"-H", "Ocp-Apim-Subscription-Key: s3cret", "-H", "X-Auth: s3cret"}, []string{"-H", "Ocp-Apim-Subscription-Key: REDACTED", "-H", "X-Auth: REDACTED"}},
		{[]string{"http://h/?key=s3cret&sig=s3cret&jwt=s3cret&a=1"}, []string{"http://h/?key=REDACTED&sig=REDACTED&jwt=REDACTED&a=1"}},
		{[]string{"http://h/me@x?q=a:b"}, []string{"http://h/me@x?q=a:b"}},
		{[]string{"host:8080/me@x", "@body", "-H", "From: me@host", "http://h/?keys=3&design=4"}, []string{"host:8080/me@x", "@body", "-H", "From: me@host", "http://h/?keys=3&design=4"}},
		{[]string{"--password"}, []string{"--password"}},
	} {
		if got := runfile.Redact(c.in, "-A"); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}
