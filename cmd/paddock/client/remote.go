package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// remote holds the flags that name a running platform and the key for it.
type remote struct {
	Server  string `aliases:"url" placeholder:"URL" help:"Address of the platform, also --url (default that of the context, or http://127.0.0.1:8080)."`
	Token   string `aliases:"key" placeholder:"TOKEN" help:"A key of the platform, or its token, also --key (default $PADDOCK_HTTP_TOKEN, or the key of the context)."`
	KeyFile string `placeholder:"FILE" help:"File with the key, in place of --token."`
	Context string `placeholder:"NAME" complete:"context" help:"Context in place of the current one, see paddock context (default $PADDOCK_CONTEXT)."`

	found *target `kong:"-"` // by resolve
}

// open makes a request whose answer has a status of success. The caller has escaped the elements of
// the path, which is one of the API.
func (r *remote) open(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	return r.send(ctx, method, path, header, bytes.NewReader(body))
}

// send is open with a body that is read as it is sent.
func (r *remote) send(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	t, err := r.resolve()
	if err != nil {
		return nil, err
	}
	res, err := t.send(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, t.refusal(res)
}

func (t *target) send(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.url+"/"+path, body)
	if err != nil {
		return nil, usagef("the address %s: %w", t.urlFrom, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	res, err := http.DefaultClient.Do(req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: is the platform running there? --server names another address; this one is %s", err, t.urlFrom)
	}
	return res, nil
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	oldest string // the oldest cursor, of a status of 410
	text   string
}

func (e *statusError) Error() string { return e.text }

// refusal returns the error of an answer that is no success. It tells where the key is from, and
// never the key itself.
func (t *target) refusal(res *http.Response) *statusError {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // only a help
	e := &statusError{status: res.StatusCode}
	var problem struct{ Detail, Oldest string }
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		e.oldest = problem.Oldest
		e.text = res.Status + ": " + problem.Detail
	} else {
		e.text = fmt.Sprintf("%s: %s: %.4096s", t.url, res.Status, bytes.TrimSpace(text))
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized && t.key == "":
		e.text += ": no key was sent: give --token or --key-file, set $PADDOCK_HTTP_TOKEN, or add a context with a key"
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden && t.key != "":
		e.text += ": the key sent to " + t.url + " is that of " + t.keyFrom
	}
	return e
}

// maxReply bounds an answer of JSON, in bytes.
const maxReply = 64 << 20

// ask makes a request, and decodes its answer into v. Without v it reads no body.
func (r *remote) ask(ctx context.Context, v any, method, path string, header http.Header, body []byte) error {
	res, err := r.open(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(v); err != nil {
		return fmt.Errorf("the answer of %s: %w", r.found.url, err)
	}
	return nil
}

// pathOf returns a path of the API with its elements escaped.
func pathOf(elements ...string) string {
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return "v1/" + strings.Join(elements, "/")
}

// withQuery returns a path with the parameters that are not empty.
func withQuery(path string, q url.Values) string {
	for name, values := range q {
		if len(values) == 1 && values[0] == "" {
			q.Del(name)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
