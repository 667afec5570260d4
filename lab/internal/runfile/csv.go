package runfile

import (
	"fmt"
	"io"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// csvHead names the columns. A number that is not known is an empty field.
func csvHead(w io.Writer, _ time.Time) error {
	_, err := io.WriteString(w, "phase,start_s,length_s,target_per_s,sent,done,good,errors,bytes_out,bytes_in,"+
		"in_flight,in_flight_max,response_p50_ns,response_p99_ns,response_max_ns,service_p50_ns,service_p99_ns,"+
		"service_max_ns,lag_p50_ns,lag_p99_ns,lag_max_ns\n")
	return err
}

func csvSecond(w io.Writer, p Phase, v *load.Interval) error {
	line := fmt.Appendf(nil, "%s,%.3f,%.3f,%g,%d,%d,%d,%d,%d,%d,%.3f,%d", p, v.Start.Seconds(), v.Length.Seconds(), targetRate(v),
		v.Sent, v.Done, v.Failed[load.ClassOK], v.Errors(), v.BytesOut, v.BytesIn, v.InFlight, v.MaxInFlight)
	for _, h := range []*histogram.Histogram{v.Response, v.Service, v.Lag} {
		if h.Count() == 0 {
			line = append(line, ",,,"...)
			continue
		}
		line = fmt.Appendf(line, ",%d,%d,%d", h.Quantile(0.5), h.Quantile(0.99), h.Max())
	}
	_, err := w.Write(append(line, '\n'))
	return err
}
