package client

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Connections that a crowd has left behind are closed within seconds; a few stay idle for the next
// visitors, and no longer than their limit.
func TestPoolAfterACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		defer p.close()
		for range 100 {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			p.put(newBackend(ours))
		}
		crowd := time.Now()
		for _, at := range []struct {
			after time.Duration
			want  int
		}{{crowdTime / 2, 100}, {2 * crowdTime, spare}, {50 * time.Second, spare}, {idleTime + crowdTime, 0}} {
			time.Sleep(at.after - time.Since(crowd))
			synctest.Wait()
			if n := p.size(); n != at.want {
				t.Errorf("%v after the crowd %d wait, want %d", at.after, n, at.want)
			}
		}
	})
}
