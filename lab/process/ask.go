package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxAnswer bounds an answer in bytes; a profile of a minute has some hundred thousand.
const maxAnswer = 64 << 20

// client uses a connection for one request.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Ask makes a request over a connection of its own, and returns the answer with the text of its
// body. A status that is none of success is an error, which comes with the answer.
func Ask(ctx context.Context, method, url string, header http.Header, body []byte) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header = header
	answer, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s %s: %w", method, url, err)
	case answer.StatusCode/100 != 2:
		err = fmt.Errorf("%s %s: answer %d: %.512q", method, url, answer.StatusCode, text)
	}
	return answer, text, err
}
