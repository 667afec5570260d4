package ab_test

import (
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/persona/ab"
)

// body is the content for -p and -u in these tests.
const body = "a=1&b=2"

// The bytes are equal to the output of ab 2.3 with the same flags, except for several cookies, of
// which it sends only the last, and the case of Content-Length.
func TestRequest(t *testing.T) {
	const usual = "Host: h:81\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n"
	for _, tc := range []struct{ line, want string }{
		{"http://h:81/a", "GET /a HTTP/1.0\r\n" + usual},
		{"h:81/a?x=1", "GET /a?x=1 HTTP/1.0\r\n" + usual},
		{"http://h:81", "GET / HTTP/1.0\r\n" + usual},
		{"-k http://h:81/a", "GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n" + usual},
		{"-i -k http://h:81/a", "HEAD /a HTTP/1.0\r\nConnection: Keep-Alive\r\n" + usual},
		{"-m DELETE http://h:81/a", "DELETE /a HTTP/1.0\r\n" + usual},
		{"-p F http://h:81/a", "POST /a HTTP/1.0\r\nContent-Length: 7\r\nContent-Type: text/plain\r\n" + usual + body},
		{"-p F -T a/b http://h:81/a", "POST /a HTTP/1.0\r\nContent-Length: 7\r\nContent-Type: a/b\r\n" + usual + body},
		{"-u F http://h:81/a", "PUT /a HTTP/1.0\r\nContent-Length: 7\r\nContent-Type: text/plain\r\n" + usual + body},
		{"-u F -m PATCH http://h:81/a", "PATCH /a HTTP/1.0\r\nContent-Length: 7\r\nContent-Type: text/plain\r\n" + usual + body},
		{
			"-k -p F -C a=b -C c=d -A u:p -P x:y -H X-B:2 -H Accept:text/html -H user-agent:me http://h:81/a",
			"POST /a HTTP/1.0\r\nConnection: Keep-Alive\r\nCookie: a=b; c=d\r\nAuthorization: Basic dTpw\r\nProxy-Authorization: Basic eDp5\r\n" +
				"Content-Length: 7\r\nContent-Type: text/plain\r\nX-B: 2\r\nAccept: text/html\r\nuser-agent: me\r\nHost: h:81\r\n\r\n" + body,
		},
		{"-H Host:other http://h:81/a", "GET /a HTTP/1.0\r\nHost: other\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n"},
		{"-p F -H Content-Type:a/b http://h:81/a", "POST /a HTTP/1.0\r\nContent-Length: 7\r\nContent-Type: a/b\r\n" + usual + body},
		{"-X proxy:3128 http://h:81/a", "GET http://h:81/a HTTP/1.0\r\n" + usual},
	} {
		o, err := ab.Parse(strings.Fields(tc.line))
		if err != nil {
			t.Errorf("%s: %v", tc.line, err)
			continue
		}
		var b []byte
		if o.PostFile+o.PutFile != "" {
			b = []byte(body)
		}
		r, err := o.Request(b)
		if err != nil || string(r.Bytes) != tc.want {
			t.Errorf("%s: got %q, %v; want %q", tc.line, r.Bytes, err, tc.want)
			continue
		}
		if m, _ := r.Thread(0, 1).Make(0); string(m.Bytes[m.Head:]) != string(b) {
			t.Errorf("%s: the head is %d bytes of %q", tc.line, m.Head, m.Bytes)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		line     string
		requests int64
		limit    time.Duration
	}{
		{"http://h/", 1, 0},
		{"-n10 http://h/", 10, 0},
		{"-t 5 http://h/", 50_000, 5 * time.Second},
		{"-n 10 -t 5 http://h/", 50_000, 5 * time.Second}, // -t implies -n 50000
		{"-t 5 -n 10 http://h/", 10, 5 * time.Second},
	} {
		o, err := ab.Parse(strings.Fields(tc.line))
		if err != nil || o.Requests != tc.requests || o.Limit != tc.limit {
			t.Errorf("%s: %+v, %v", tc.line, o, err)
		}
	}
	for _, tc := range []struct{ line, want string }{
		{"", "one URL is measured, and there are 0"},
		{"http://h/ http://i/", "there are 2"},
		{"ftp://h/", "no URL of the form http://host/path"},
		{"-n 0 http://h/", "-n: 0 is below 1"},
		{"-n 2 -c 3 http://h/", "-c 3 is above -n 2"},
		{"-n 30000 -c 30000 http://h/", "-c 30000 is above 20000"},
		{"-p a -u b http://h/", "-p and -u exclude one another"},
		{"-i -p a http://h/", "-i is a method"},
		{"-T a/b http://h/", "-T is about the body"},
		{"-v 4 http://h/", "-v: 4: answers are not shown"},
		{"-t 10000000 http://h/", "-t: 10000000 seconds are more than a month"},
		{"-X p:1 https://h/", "-X: https goes through a proxy by CONNECT"},
		{"http://u:p@h/", "given by -A"},
		{"-w http://h/", "-w: not here: --out DIR"},
		{"-B 127.0.0.1 http://h/", "-B: not here: the system chooses"},
		{"-E cert http://h/", "-E: not here: certificates are not checked"},
	} {
		if _, err := ab.Parse(strings.Fields(tc.line)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %s", tc.line, err, tc.want)
		}
	}
	for _, tc := range []struct{ line, want string }{
		{"-A nobody http://h/", "-A has no colon"},
		{"-H nothing http://h/", "-H: "},
		{"-m A(B http://h/", "method"},
	} {
		o, err := ab.Parse(strings.Fields(tc.line))
		if err == nil {
			_, err = o.Request(nil)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %s", tc.line, err, tc.want)
		}
	}
}

// No report contains credentials.
func TestHide(t *testing.T) {
	args := strings.Fields("bench ab -kA joe:secret -Ppro:secret -C s=secret http://h/secret/")
	o, err := ab.Parse(args[2:])
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(o.Hide(args), " "); got != "bench ab -kA REDACTED -PREDACTED -C REDACTED http://h/secret/" {
		t.Error(got)
	}
}
