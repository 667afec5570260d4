package http1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
)

// maxTargets bounds how many targets a file may have.
const maxTargets = 1 << 20

// Files gives the content of a file that a text names.
type Files func(name string) ([]byte, error)

// ReadTargets reads a file of requests in the form of vegeta:
//
//	POST http://localhost:8080/positions
//	Content-Type: application/json
//	@position.json
//
//	GET http://localhost:8080/healthz
//
// A target is a method and a URL, header lines, and the name of a file that holds the body. A blank
// line or the next target ends it; lines that begin with # are comments. A path alone is one of
// r.URL's service. r holds the values that apply to each target, except for header fields that the
// target has itself. All targets are of one service. An error names the line.
func ReadTargets(in io.Reader, r Request, files Files) ([]Request, error) {
	t := targets{usual: r, files: files, bodies: map[string][]byte{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxHead)
	n := 0
	for lines.Scan() {
		n++
		if err := t.line(strings.TrimSpace(lines.Text())); err != nil {
			return nil, fmt.Errorf("http1: targets: line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("more than %d KiB", maxHead>>10)
		}
		return nil, fmt.Errorf("http1: targets: line %d: %w", n+1, err)
	}
	if len(t.list) == 0 {
		return nil, errors.New("http1: targets: there is none")
	}
	return t.list, nil
}

// namedTargets bounds how many targets of a list have names of their own.
const namedTargets = 64

// TargetNames returns the names of the targets of a list, which are method and URL as they are
// written, and for each request which of them it is of. Behind the first 64 all are "others".
func TargetNames(list []Request) (names []string, of []uint16) {
	known := map[string]uint16{}
	for i := range list {
		name := list[i].method() + " " + list[i].URL
		if _, ok := known[name]; !ok && len(names) >= namedTargets {
			name = "others"
		}
		if _, ok := known[name]; !ok {
			known[name] = uint16(len(names))
			names = append(names, name)
		}
		of = append(of, known[name])
	}
	return names, of
}

// targets is a file of targets that is being read.
type targets struct {
	usual   Request
	files   Files
	bodies  map[string][]byte // by the name of the file
	size    int               // of all bodies
	list    []Request
	open    bool   // the last of them may go on
	service string // of all
}

func (t *targets) line(line string) error {
	switch {
	case line == "":
		t.open = false
		return nil
	case line[0] == '#':
		return nil
	}
	if method, rest, ok := strings.Cut(line, " "); ok && isMethod(method) {
		return t.begin(method, strings.TrimSpace(rest))
	}
	switch {
	case !t.open:
		return fmt.Errorf("%q is no target: it is written METHOD URL", shown(line))
	case line[0] == '@':
		return t.body(line[1:])
	}
	f, err := ParseField(line)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "http1: "))
	}
	last := &t.list[len(t.list)-1]
	last.Header = append(slices.DeleteFunc(last.Header, func(of Field) bool { return t.isUsual(of, f.Name) }), f)
	return nil
}

// isUsual reports whether a field is of all targets, and has a name.
func (t *targets) isUsual(f Field, name string) bool {
	return strings.EqualFold(f.Name, name) && slices.Contains(t.usual.Header, f)
}

// isMethod tells the first word of a target from a header's name.
func isMethod(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// begin takes the first line of a target.
func (t *targets) begin(method, text string) error {
	if len(t.list) == maxTargets {
		return fmt.Errorf("more than %d targets", maxTargets)
	}
	if strings.HasPrefix(text, "/") && t.usual.URL != "" {
		base, err := url.Parse(t.usual.URL)
		if err != nil {
			return err
		}
		text = base.Scheme + "://" + base.Host + text
	}
	service, secure, err := Endpoint(text)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "http1: "))
	}
	if secure {
		service = "https " + service
	}
	if t.service == "" {
		t.service = service
	}
	if service != t.service {
		return fmt.Errorf("the service is %s, and that of the first target %s: a run has one", service, t.service)
	}
	r := t.usual
	r.Method, r.URL, r.Header = method, text, slices.Clone(r.Header)
	t.list, t.open = append(t.list, r), true
	return nil
}

// body takes the line that names the file of a body, which ends the target.
func (t *targets) body(name string) error {
	t.open = false
	body, known := t.bodies[name]
	if !known {
		var err error
		if body, err = t.files(name); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
		if t.size += len(body); len(body) > maxBody || t.size > maxFile {
			return fmt.Errorf("the body %q has %d bytes: a body may have %d MiB, and all files %d MiB", name, len(body), maxBody>>20, maxFile>>20)
		}
		if body == nil {
			body = []byte{}
		}
		t.bodies[name] = body
	}
	t.list[len(t.list)-1].Body = body
	return nil
}

// shown is the beginning of a text for an error.
func shown(text string) string { return text[:min(len(text), 60)] }

// WithScheme returns a URL with its scheme: http, where it has none.
func WithScheme(url string) string {
	scheme, _, found := strings.Cut(url, "://")
	if found && !strings.ContainsAny(scheme, "/?#") {
		return url
	}
	return "http://" + url
}

// Endpoint is where the service of a URL listens, as load.Plan has it, and whether it
// speaks TLS.
func Endpoint(url string) (address string, secure bool, err error) {
	u, err := parseURL(url)
	if err != nil {
		return "", false, err
	}
	secure = u.Scheme == "https"
	port := u.Port()
	switch {
	case port != "":
	case secure:
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}
