package bus_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// loadBatch is how much the load writes at once.
	loadBatch = 64 << 10
	// loadWindow is how many batches may be under way to one receiver.
	loadWindow = 64
)

// flow is a stream of messages: from publishers to groups of receivers.
type flow struct {
	size       int // bytes of payload
	publishers int
	groups     int // each gets every message
	members    int // of each group, which share them; more than one makes a queue
	subjects   int // that the messages go round; 0 = one
	churn      bool
}

// BenchmarkFlow: an operation is a published message. srv-ns/msg is the broker's CPU time for a
// delivery, or for a publication without receivers.
func BenchmarkFlow(b *testing.B) {
	for name, f := range map[string]flow{
		"pub-16":     {size: 16, publishers: 1},
		"pub-128":    {size: 128, publishers: 1},
		"1to1-16":    {size: 16, publishers: 1, groups: 1, members: 1},
		"1to1-128":   {size: 128, publishers: 1, groups: 1, members: 1},
		"1to1-16K":   {size: 16 << 10, publishers: 1, groups: 1, members: 1},
		"1to8-128":   {size: 128, publishers: 1, groups: 8, members: 1},
		"1to8-16K":   {size: 16 << 10, publishers: 1, groups: 8, members: 1},
		"4to1-128":   {size: 128, publishers: 4, groups: 1, members: 1},
		"queue4-16":  {size: 16, publishers: 1, groups: 1, members: 4},
		"million-16": {size: 16, publishers: 1, groups: 1, members: 1, subjects: 1 << 20},
		"churn-16":   {size: 16, publishers: 1, groups: 1, members: 1, churn: true},
	} {
		for target, start := range brokers() {
			b.Run(name+"/"+target, func(b *testing.B) { f.run(b, start(b)) })
		}
	}
}

// sink counts the messages that the members of one group receive.
type sink struct {
	got    atomic.Int64
	unit   int64         // bytes of one batch of the load
	window chan struct{} // a token for each batch under way
	want   int64
}

func (f *flow) subject(i int) string {
	if f.subjects == 0 {
		return "load.subject"
	}
	return fmt.Sprintf("load.%07d", i)
}

// lines are the batches that a publisher sends in turn, of equal numbers of messages.
func (f *flow) lines() (batches [][]byte, each int) {
	body := strings.Repeat("x", f.size)
	line := func(i int) string { return fmt.Sprintf("PUB %s %d\r\n%s\r\n", f.subject(i), f.size, body) }
	each = max(1, loadBatch/len(line(0)))
	for i := 0; i == 0 || i < f.subjects; i += each {
		var batch bytes.Buffer
		for k := range each {
			batch.WriteString(line(i + k))
		}
		batches = append(batches, batch.Bytes())
	}
	return batches, each
}

func (f *flow) run(b *testing.B, k *broker) {
	batches, each := f.lines()
	perPublisher := (b.N + each*f.publishers - 1) / (each * f.publishers) // batches
	delivery := int64(len(fmt.Sprintf("MSG %s 1 %d\r\n", f.subject(0), f.size)) + f.size + 2)
	var receivers sync.WaitGroup
	var sinks []*sink
	for range f.groups {
		s := &sink{unit: delivery * int64(each), window: make(chan struct{}, loadWindow)}
		s.want = s.unit * int64(perPublisher*f.publishers)
		sinks = append(sinks, s)
		f.receive(b, k, s, &receivers)
	}
	var links []*link
	for range f.publishers {
		links = append(links, k.dial(b, ""))
	}
	stop := f.startChurn(b, k)
	before := k.cpu(b)
	b.ResetTimer()
	var senders sync.WaitGroup
	for _, l := range links {
		senders.Go(func() {
			for i := range perPublisher {
				for _, s := range sinks {
					s.window <- struct{}{}
				}
				if _, err := l.Write(batches[i%len(batches)]); err != nil {
					b.Error(err)
					return
				}
			}
			l.send(b, "PING\r\n")
			l.pong(b)
		})
	}
	senders.Wait()
	receivers.Wait()
	b.StopTimer()
	sent := perPublisher * f.publishers * each
	b.ReportMetric(float64(k.cpu(b)-before)/float64(sent*max(1, f.groups)), "srv-ns/msg")
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "msg/s")
	stop()
}

// receive starts the members of one group.
func (f *flow) receive(b *testing.B, k *broker, s *sink, done *sync.WaitGroup) {
	ended := make(chan struct{})
	for range f.members {
		queue, pattern := "", f.subject(0)
		if f.members > 1 {
			queue = "q "
		}
		if f.subjects > 0 {
			pattern = "load.>"
		}
		l := k.dial(b, "SUB "+pattern+" "+queue+"1\r\n")
		done.Go(func() {
			go func() { // a message that a sibling has missed is not for this one
				<-ended
				l.SetReadDeadline(time.Now())
			}()
			buf := make([]byte, 256<<10)
			for s.got.Load() < s.want {
				n, err := l.Read(buf)
				if err != nil {
					break
				}
				got := s.got.Add(int64(n))
				for range got/s.unit - (got-int64(n))/s.unit {
					<-s.window
				}
				if got >= s.want {
					close(ended)
				}
			}
			if got := s.got.Load(); got < s.want {
				b.Errorf("%d bytes of %d have come", got, s.want)
			}
		})
	}
}

// startChurn subscribes and unsubscribes 10,000 times a second.
func (f *flow) startChurn(b *testing.B, k *broker) (stop func()) {
	if !f.churn {
		return func() {}
	}
	l := k.dial(b, "")
	ticker, end := time.NewTicker(time.Millisecond), make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		for sid := 0; ; {
			select {
			case <-end:
				return
			case <-ticker.C:
			}
			var text []byte
			for range 10 {
				sid++
				text = fmt.Appendf(text, "SUB _INBOX.%d %d\r\nUNSUB %d\r\n", sid, sid, sid)
			}
			l.send(b, string(text))
		}
	})
	return func() {
		close(end)
		ticker.Stop()
		loop.Wait()
	}
}

// BenchmarkRequest: an operation is a request with its answer, one after the other or 50 at once.
func BenchmarkRequest(b *testing.B) {
	for _, clients := range []int{1, 50} {
		for target, start := range brokers() {
			b.Run(strconv.Itoa(clients)+"/"+target, func(b *testing.B) { request(b, start(b), clients) })
		}
	}
}

func request(b *testing.B, k *broker, clients int) {
	responder := k.dial(b, "SUB service 1\r\n")
	var answering sync.WaitGroup
	answering.Go(func() { answer(responder) })
	each := (b.N + clients - 1) / clients
	took := make([][]time.Duration, clients)
	links := make([]*link, clients)
	for i := range links {
		links[i] = k.dial(b, fmt.Sprintf("SUB in.%d.* 1\r\n", i))
	}
	before := k.cpu(b)
	b.ResetTimer()
	var asking sync.WaitGroup
	for i, l := range links {
		asking.Go(func() {
			line := fmt.Appendf(nil, "PUB service in.%d.7 16\r\n0123456789abcdef\r\n", i)
			for range each {
				begin := time.Now()
				if _, err := l.Write(line); err != nil {
					b.Error(err)
					return
				}
				l.in.ReadSlice('\n')
				l.in.ReadSlice('\n')
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	asking.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(k.cpu(b)-before)/float64(len(all)), "srv-ns/req")
	b.ReportMetric(float64(all[len(all)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100])/1e3, "p99-µs")
	responder.Close()
	answering.Wait()
}

// answer sends each request's payload back.
func answer(l *link) {
	var out []byte
	for {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			return
		}
		fields := bytes.Fields(line)
		if len(fields) != 5 { // PING
			continue
		}
		out = fmt.Appendf(out, "PUB %s %s\r\n", fields[3], fields[4])
		body, err := l.in.ReadSlice('\n')
		if err != nil {
			return
		}
		out = append(out, body...)
		if l.in.Buffered() == 0 {
			l.Write(out)
			out = out[:0]
		}
	}
}
