package client

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// cancelledStream is the code of a stream that is not wanted any more.
const cancelledStream = 8

// grpcAnswer is what a gRPC service meant that has reset a call before it said anything: a
// status alone, as gRPC's clients take such a reset from a service without anything between.
// Services do so when their clock is the first to find the call's time over. It is nil for
// other errors, and for what is no call.
func grpcAnswer(r *http.Request, begun time.Time, err error) *http.Response {
	var reset h2Reset
	if !errors.As(err, &reset) || reset.Code != cancelledStream || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		return nil
	}
	status, text := "1", "the service has given up the call"
	if limit, ok := grpcTimeout(r.Header.Get("Grpc-Timeout")); ok && time.Since(begun) >= limit {
		status, text = "4", "the time of the call is over"
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{
		"Content-Type": {r.Header.Get("Content-Type")}, "Grpc-Status": {status}, "Grpc-Message": {text},
	}}
}

// grpcUnits are those of a timeout.
var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// grpcTimeout reads the time that a call may take: up to eight digits and a unit.
func grpcTimeout(s string) (limit time.Duration, ok bool) {
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	unit, ok := grpcUnits[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if err != nil || !ok {
		return 0, false
	}
	return min(time.Duration(n), time.Duration(1<<63-1)/unit) * unit, true
}
