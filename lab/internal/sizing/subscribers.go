package sizing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// subscribers are streams of all events that are read and dropped.
type subscribers struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	err     error // why one has ended before close
}

// subscribe opens so many streams, each over a connection of its own.
func subscribe(ctx context.Context, host string, n int) (*subscribers, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &subscribers{cancel: cancel}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range n {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v1/events?format=ndjson", nil)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		answer, err := client.Do(request)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.Join(fmt.Errorf("GET /v1/events: answer %s", answer.Status), answer.Body.Close())
		}
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.running.Go(func() {
			_, err := io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close() // it has been read
			if ctx.Err() == nil {
				s.mu.Lock()
				s.err = errors.Join(s.err, fmt.Errorf("a stream of events has ended: %w", err))
				s.mu.Unlock()
			}
		})
	}
	return s, nil
}

// close ends the streams.
func (s *subscribers) close() error {
	s.cancel()
	s.running.Wait()
	return s.err
}
