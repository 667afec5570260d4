package pointquery

import (
	"bytes"
	"math"
	"strconv"
)

// AppendParameters appends the query in the parameters of a GET, as encoding/json writes it: a
// Feature without properties. It accepts only lat and lon, in either order and unescaped. It
// returns false for other parameters, and for values that are not finite numbers.
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

// coordinate parses the value of a parameter. A number without a plus sign contains no escapes.
func coordinate(parameter []byte, name string) (float64, bool) {
	value, ok := bytes.CutPrefix(parameter, []byte(name))
	if !ok || bytes.IndexByte(value, '+') >= 0 { // a plus sign stands for a space
		return 0, false
	}
	v, err := strconv.ParseFloat(string(value), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
