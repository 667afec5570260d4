package pointquery

import (
	"bytes"
	"math"
	"strconv"
)

// AppendParameters appends the query that the parameters of a GET mean, as
// encoding/json writes it: a Feature without properties. It takes lat and lon alone,
// in either order and with nothing escaped; false leaves others, and what is no
// finite number, to the caller.
//
// hot: BenchmarkAppendParameters, TestAppendParametersAllocatesNothing
func AppendParameters(dst, query []byte) ([]byte, Point, bool) {
	first, second, _ := bytes.Cut(query, []byte("&"))
	if bytes.HasPrefix(first, []byte("lon=")) {
		first, second = second, first
	}
	lat, ok := coordinate(first, "lat=")
	lon, also := coordinate(second, "lon=")
	if !ok || !also {
		return dst, Point{}, false
	}
	dst = append(dst, `{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[`...)
	dst = append(appendFloat(dst, lon), ',')
	dst = append(appendFloat(dst, lat), "]}}"...)
	return dst, Point{Lon: lon, Lat: lat}, true
}

// coordinate reads the value of a parameter, which has no escapes if it is a number
// without a sign of plus.
func coordinate(parameter []byte, name string) (float64, bool) {
	value, ok := bytes.CutPrefix(parameter, []byte(name))
	if !ok || bytes.IndexByte(value, '+') >= 0 { // a space, when it is decoded
		return 0, false
	}
	v, err := strconv.ParseFloat(string(value), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
