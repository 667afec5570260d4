package server

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
)

// endless is a body of a length that counts how much of it was taken.
type endless struct {
	left  int64
	taken *atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left -= n
	e.taken.Add(n)
	return int(n), nil
}

// A visitor in the middle of a long upload receives an answer that precedes its end, from the
// target or from the front itself, and can send another request.
func TestAnswerInTheMidstOfAnUpload(t *testing.T) {
	const size = 64 << 20
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		}
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}))
	for _, c := range []struct {
		name, host, path string
		length           int64
		status           int
	}{
		{"by the target at once", "example.com", "/", size, 413},
		{"by the target after a while", "example.com", "/half", size, 413},
		{"by the target, of unknown length", "example.com", "/half", -1, 413},
		{"by the front", "nobody.example", "/", size, 404},
		{"by the front, of unknown length", "nobody.example", "/", -1, 404},
	} {
		for range 4 {
			var taken atomic.Int64
			r := p.Request(http.MethodPost, c.host, c.path, &endless{size, &taken})
			r.ContentLength = c.length
			res, err := p.HTTP.Do(r)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			_, err = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != c.status || err != nil || taken.Load() == size {
				t.Errorf("%s: %d, %v, %d bytes were taken", c.name, res.StatusCode, err, taken.Load())
			}
			if res, _ := p.Do(p.Request(http.MethodPost, c.host, "/", bytes.NewReader([]byte("short")))); res.StatusCode != c.status {
				t.Errorf("%s: and again: %d", c.name, res.StatusCode)
			}
		}
	}
}
