package wrk

import (
	"math"
	"strings"
	"testing"
)

func TestUnits(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{formatMicroseconds(extended(0)), "0.00us"},
		{formatMicroseconds(extended(849.99)), "849.99us"},
		{formatMicroseconds(extended(850)), "0.85ms"},
		{formatMicroseconds(extended(5620)), "5.62ms"},
		{formatMicroseconds(extended(193_370)), "193.37ms"},
		{formatMicroseconds(extended(850_000)), "850.00ms"}, // not a second before it is one
		{formatMicroseconds(extended(999_999)), "1000.00ms"},
		{formatMicroseconds(extended(1e6)), "1.00s"},
		{formatMicroseconds(extended(10_010_000)), "10.01s"},
		{formatMicroseconds(extended(50.9e6)), "50.90s"},
		{formatMicroseconds(extended(51e6)), "0.85m"},
		{formatMicroseconds(extended(300_050_000)), "5.00m"},
		{formatMicroseconds(extended(7200e6)), "120.00m"}, // hours are never reached
		// Between two numbers, the last of 64 bits decides.
		{formatMicroseconds(extended(1825)), "1.83ms"},
		{formatMicroseconds(extended(1935)), "1.93ms"},
		{formatMicroseconds(extended(37_345)), "37.35ms"},
		{formatMicroseconds(extended(2_125)), "2.12ms"}, // exact: to the even one
		{formatSeconds(1), "1s"},
		{formatSeconds(50), "50s"},
		{formatSeconds(60), "1m"},
		{formatSeconds(90), "2m"}, // 1.5, to the even number
		{formatSeconds(150), "2m"},
		{formatSeconds(7200), "120m"},
		{formatBinary(0), "0.00"},
		{formatBinary(870.39), "870.39"},
		{formatBinary(870.4), "0.85K"},
		{formatBinary(98_010_000), "93.47M"},
		{formatBinary(923_417_968), "0.86G"},
		{formatBinary(math.Pow(2, 70)), "1073741824.00T"},
		{formatMetric(extended(317.1)), "317.10"},
		{formatMetric(extended(849.99)), "849.99"},
		{formatMetric(extended(870)), "0.87k"},
		{formatMetric(extended(10_930)), "10.93k"},
		{formatMetric(extended(1.5e6)), "1.50M"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
}

func TestParseUnits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "50": 50, "1k": 1000, "1K": 1000, "2M": 2e6, "1g": 1e9, "9P": 9e15} {
		if n, err := ParseCount(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]int64{"10": 10, "10s": 10, "2S": 2, "5m": 300, "1h": 3600, "2H": 7200} {
		if n, err := ParseSeconds(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]string{
		"": `"" is not`, "k": `"k" is not`, "1.5k": `"1.5k" is not`, "-1": `"-1" is not`, "+1": `"+1" is not`, "1s": `"1s" is not`, "1kk": "is not", " 1": "is not",
		"99999999999999999999": "too large", "99999999P": "too large",
	} {
		if n, err := ParseCount(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"1ms", "1m30s", "1d", "0.5s", "s", "9999999999999999h"} {
		if n, err := ParseSeconds(text); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}
