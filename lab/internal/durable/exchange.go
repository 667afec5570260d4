package durable

import (
	"context"
	"io"
	"net/http"
	"time"
)

// client makes the few requests that are not measured one by one, each over a connection of its
// own.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}, Timeout: answerWithin}

// get returns an answer.
func get(ctx context.Context, host, path string) (status int, header http.Header, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return 0, nil, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(text), err
}

// pause waits for a moment, or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
