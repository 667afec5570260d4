package ab

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"paddock/lab/internal/figure"
)

// served are the percentages of the requests whose times are listed.
var served = []int64{50, 66, 75, 80, 90, 95, 98, 99, 100}

// WriteStart writes the text before the run. Without a heartbeat WriteText ends its last line.
func (o *Options) WriteStart(w io.Writer, version string) error {
	text := fmt.Sprintf("This is paddock %s, in the form of ApacheBench 2.3\n\nBenchmarking %s ", version, figure.Text(o.target().Hostname()))
	if o.Proxy != "" {
		text += fmt.Sprintf("[through %s] ", figure.Text(o.Proxy))
	}
	text += "(be patient)"
	if o.heartbeat() > 0 {
		text += "\n"
	} else {
		text += "..."
	}
	_, err := io.WriteString(w, text)
	return err
}

// WriteRequest writes the request, if -v asks for it.
func (o *Options) WriteRequest(w io.Writer, r *Request) error {
	if o.Verbosity < maxVerbosity {
		return nil
	}
	_, err := fmt.Fprintf(w, "INFO: %s header == \n---\n%s\n---\n", o.method(), r.Bytes[:r.head])
	return err
}

// WriteText writes the report.
func (p *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if p.o.heartbeat() == 0 {
		b.WriteString("..done\n")
	}
	b.WriteString("\n\n")
	p.writeService(&b)
	p.writeTotals(&b)
	if p.r.done > 0 {
		p.writeTimes(&b)
		p.writeServed(&b)
	}
	if p.o.Goab {
		p.writeGoab(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// line writes a value in ab's column.
func line(b *bytes.Buffer, name, format string, args ...any) {
	fmt.Fprintf(b, "%-24s"+format+"\n", append([]any{name + ":"}, args...)...)
}

func (p *Report) writeService(b *bytes.Buffer) {
	u := p.o.target()
	port := "80"
	if u.Scheme == "https" {
		port = "443"
	}
	line(b, "Server Software", "%s", figure.Text(p.r.server))
	line(b, "Server Hostname", "%s", figure.Text(u.Hostname()))
	line(b, "Server Port", "%s", cmp.Or(u.Port(), port))
	for _, of := range []struct{ name, value string }{
		{"SSL/TLS Protocol", p.r.tls.protocol}, {"Server Temp Key", p.r.tls.key}, {"TLS Server Name", p.r.tls.name},
	} {
		if of.value != "" {
			line(b, of.name, "%s", of.value)
		}
	}
	b.WriteString("\n")
	line(b, "Document Path", "%s", figure.Text(u.RequestURI()))
	if p.o.AnyLength {
		line(b, "Document Length", "Variable")
	} else {
		line(b, "Document Length", "%d bytes", p.r.length)
	}
	b.WriteString("\n")
}

func (p *Report) writeTotals(b *bytes.Buffer) {
	r, t, seconds := p.r, p.moved(), p.seconds()
	line(b, "Concurrency Level", "%d", p.o.Conns)
	line(b, "Time taken for tests", "%.3f seconds", seconds)
	line(b, "Complete requests", "%d", r.done)
	p.writeFailed(b)
	if r.non2xx > 0 {
		line(b, "Non-2xx responses", "%d", r.non2xx)
	}
	if p.o.KeepAlive {
		line(b, "Keep-Alive requests", "%d", r.kept)
	}
	line(b, "Total transferred", "%d bytes", t.in)
	if p.o.sendsBody() {
		line(b, "Total body sent", "%d", t.out)
	}
	line(b, "HTML transferred", "%d bytes", t.body)
	if r.done == 0 || seconds == 0 {
		return
	}
	done := float64(r.done)
	line(b, "Requests per second", "%.2f [#/sec] (mean)", done/seconds)
	line(b, "Time per request", "%.3f [ms] (mean)", float64(p.o.Conns)*seconds*1000/done)
	line(b, "Time per request", "%.3f [ms] (mean, across all concurrent requests)", seconds*1000/done)
	line(b, "Transfer rate", "%.2f [Kbytes/sec] received", float64(t.in)/1024/seconds)
	if p.o.sendsBody() {
		fmt.Fprintf(b, "%24s%.2f kb/s sent\n", "", float64(t.out)/1024/seconds)
		fmt.Fprintf(b, "%24s%.2f kb/s total\n", "", float64(t.in+t.out)/1024/seconds)
	}
}

func (o *Options) sendsBody() bool { return o.PostFile != "" || o.PutFile != "" }

// writeGoab writes the lines of goab. The average is that of the measured times, as with goab; ab's
// "Time per request" follows from the rate. goab counted errors only with -k.
func (p *Report) writeGoab(b *bytes.Buffer) {
	mean, most := time.Duration(p.total.mean())*time.Microsecond, time.Duration(p.total.percent(100))*time.Microsecond
	fmt.Fprintf(b, "\nAvg latency over %d requests: %v\nMax latency: %v\n", p.r.done, mean, most)
	if p.o.KeepAlive {
		fmt.Fprintf(b, "Total error count: %d\n", p.failed())
	}
	fmt.Fprintf(b, "Total time: %v\nTPS: %.2f\n", p.took(), float64(p.r.done)/max(p.seconds(), 1e-9))
}

// failed returns the number of failed requests.
func (p *Report) failed() int64 {
	return unconnected(&p.result.Total) + p.r.broke + p.r.lengths + p.r.otherwise
}

// writeFailed counts each request under one cause. ab counts one whose connection broke under
// three.
func (p *Report) writeFailed(b *bytes.Buffer) {
	r, refused, failed := p.r, unconnected(&p.result.Total), p.failed()
	line(b, "Failed requests", "%d", failed)
	if failed > 0 {
		fmt.Fprintf(b, "   (Connect: %d, Receive: %d, Length: %d, Exceptions: %d)\n", refused, r.broke, r.lengths, r.otherwise)
	}
}

// writeTimes writes the table, and ab's warnings about means and medians that are far from each
// other.
func (p *Report) writeTimes(b *bytes.Buffer) {
	b.WriteString("\nConnection Times (ms)\n")
	if p.o.NoSpread {
		b.WriteString("              min   avg   max\n")
	} else {
		b.WriteString("              min  mean[+/-sd] median   max\n")
	}
	var doubts strings.Builder
	for _, of := range []struct {
		name, what string
		column     *column
	}{
		{"Connect:", "the initial connection time", &p.connect},
		{"Processing:", "the processing time", &p.processing},
		{"Waiting:", "the waiting time", &p.waiting},
		{"Total:", "the total time", &p.total},
	} {
		r := of.column.row()
		if p.o.NoSpread {
			fmt.Fprintf(b, "%-12s%5d %5d%5d\n", of.name, r.least, r.mean, r.most)
			continue
		}
		fmt.Fprintf(b, "%-12s%5d %4d %5.1f %6d %7d\n", of.name, r.least, r.mean, r.deviation, r.median, r.most)
		doubts.WriteString(r.doubt(of.what))
	}
	b.WriteString(doubts.String())
}

// doubt compares the rounded figures, as ab does. So with times of a few milliseconds rounding
// alone may cause a warning.
func (r row) doubt(what string) string {
	switch d := math.Abs(float64(r.mean - r.median)); {
	case d > 2*r.deviation:
		return "ERROR: The median and mean for " + what + " are more than twice the standard\n       deviation apart. These results are NOT reliable.\n"
	case d > r.deviation:
		return "WARNING: The median and mean for " + what + " are not within a normal deviation\n        These results are probably not that reliable.\n"
	}
	return ""
}

func (p *Report) writeServed(b *bytes.Buffer) {
	if p.o.NoPercentiles || p.r.done < 2 {
		return
	}
	b.WriteString("\nPercentage of the requests served within a certain time (ms)\n")
	for _, share := range served {
		note := ""
		if share == 100 {
			note = " (longest request)"
		}
		fmt.Fprintf(b, "%4d%%  %5d%s\n", share, milliseconds(p.total.percent(share)), note)
	}
}
