package format

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var arrival = time.Date(2026, 3, 12, 11, 16, 45, 0, time.UTC)

// The lines are those of the description of the socket data.
func TestSBS(t *testing.T) {
	s := &SBS{}
	at := arrival.UnixMilli()
	for _, line := range []string{
		"STA,,5,179,400AE7,10103,2008/11/28,14:58:51.153,2008/11/28,14:58:51.153,RM",
		"MSG,4,5,211,4CA2D6,10057,2008/11/28,14:53:49.986,2008/11/28,14:58:51.153,,,408.3,146.4,,,64,,,,,",
		"MSG,8,5,211,4CA2D6,10057,2008/11/28,14:53:50.391,2008/11/28,14:58:51.153,,,,,,,,,,,,0",
		"MSG,1,5,211,4CA2D6,10057,2008/11/28,14:53:50.391,2008/11/28,14:58:51.153,RYR1427,,,,,,,,,,,",
	} {
		if got := outcome(s.Line([]byte(line), at), nil); got != "ignored" {
			t.Errorf("%s: %s", line, got)
		}
	}
	const place = "MSG,3,5,211,4CA2D6,10057,2008/11/28,14:53:50.594,2008/11/28,14:58:51.153,,37000,,,51.45735,-1.02826,,,0,0,0,0\r\n"
	expected{"4CA2D6", "", 51.45735, -1.02826, unknown, 408.3 * 1852 / 3600, 146.4, 11277.6, `{"callsign":"RYR1427"}`}.one(t, s.Line([]byte(place), at), nil)
	expected{"4CA2D6", "", 51.45735, -1.02826, unknown, unknown, unknown, 11277.6, `{"callsign":"RYR1427"}`}.one(t, s.Line([]byte(place), at+60_000), nil)
	expected{"4010E9", "", 53.02551, -2.91389, unknown, unknown, unknown, 28000 * 0.3048, ""}.one(t, s.Line([]byte("MSG,3,5,276,4010e9,10088,2008/11/28,14:53:49.986,2008/11/28,14:58:51.153,,28000,,,53.02551,-2.91389,,,0,0,0,0"), at), nil)
	for line, want := range map[string]string{
		"MSG,3,5,276": " body: 4 fields, of at least 16",
		"MSG,3,5,276,XYZ,1,,,,,,28000,,,53.02551,-2.91389": ` id: "XYZ" is no 24-bit address`,
		"MSG,3,5,276,4010E9,1,,,,,,2 km,,,53.02551,-2.9":   `4010E9 altitude: "2 km" is not a number`,
		"MSG,3,5,276,4010E9,1,,,,,,28000,,,53.02551,":      "4010E9 lon: missing",
		"": "ignored",
	} {
		if got := outcome(s.Line([]byte(line), at), nil); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	for i := range 3 * maxAircraft {
		s.Line(fmt.Appendf(nil, "MSG,4,5,1,%06X,1,,,,,,,100,50,,,", i+1), at)
	}
	if n := len(s.aircraft); n > maxAircraft {
		t.Errorf("%d aircraft are remembered", n)
	}
}

// sentence_ returns a sentence with its checksum.
func withSum(body string) []byte {
	var sum byte
	for i := 1; i < len(body); i++ {
		sum ^= body[i]
	}
	return fmt.Appendf(nil, "%s*%02X\r\n", body, sum)
}

// The sentences are the common examples of descriptions of the format, as of Traccar's.
func TestNMEA(t *testing.T) {
	at := arrival.UnixMilli()
	n := &NMEA{ID: "boat"}
	expected{"boat", "1994-11-19T22:54:46Z", 49 + 16.45/60, -(123 + 11.12/60), unknown, 0.5 * 1852 / 3600, 54.7, unknown, ""}.one(t,
		n.Line([]byte("$GPRMC,225446,A,4916.45,N,12311.12,W,000.5,054.7,191194,020.3,E*68\r\n"), at), nil)
	if got := outcome(n.Line([]byte("$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47"), at), nil); got != "ignored" {
		t.Error(got)
	}
	expected{"boat", "1994-03-23T12:35:19Z", 48 + 7.038/60, 11 + 31.0/60, unknown, 22.4 * 1852 / 3600, 84.4, 545.4, ""}.one(t,
		n.Line([]byte("$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A"), at), nil)

	// Without RMC, GGA has the place, VTG the movement, and the day is the nearest one.
	n = &NMEA{ID: "boat"}
	if got := outcome(n.Line([]byte("$GPVTG,054.7,T,034.4,M,005.5,N,010.2,K*48"), at), nil); got != "ignored" {
		t.Error(got)
	}
	expected{"boat", "2026-03-12T12:35:19Z", 48 + 7.038/60, 11 + 31.0/60, unknown, 5.5 * 1852 / 3600, 54.7, 545.4, ""}.one(t,
		n.Line([]byte("$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47"), at), nil)
	expected{"boat", "2026-03-11T23:59:59.5Z", -(48 + 7.038/60), 11 + 31.0/60, unknown, 5.5 * 1852 / 3600, 54.7, unknown, ""}.one(t,
		n.Line(withSum("$GNGGA,235959.50,4807.038,S,01131.000,E,1,08,0.9,,M,46.9,M,,"), time.Date(2026, 3, 12, 0, 0, 1, 0, time.UTC).UnixMilli()), nil)
	for line, want := range map[string]string{
		"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6B":               "boat checksum: 6B, the sentence has 6A",
		"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W":                  "boat checksum: missing",
		string(withSum("$GPRMC,123519,V,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W")): "ignored",
		string(withSum("$GPRMC,123519,A,4807.038,X,01131.000,E,022.4,084.4,230394,003.1,W")): `boat lat: 4807.038,"X" is no angle`,
		string(withSum("$GPRMC,123519,A,4867.038,N,01131.000,E,022.4,084.4,230394,003.1,W")): `boat lat: "4867.038","N" is no angle`,
		string(withSum("$GPRMC,123519,A,,,01131.000,E,022.4,084.4,230394,003.1,W")):          "boat lat: missing",
		string(withSum("$GPRMC,1235,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W")):   `boat t: "1235" is not hhmmss`,
		string(withSum("$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,2303,003.1,W")):   `boat t: "2303" is not ddmmyy`,
		string(withSum("$GPGSV,3,1,11,03,03,111,00")):                                        "ignored",
		string(withSum("$GPGGA,123519,4807.038,N,01131.000,E,0,08,0.9,545.4,M,46.9,M,,")):    "ignored",
		"": "ignored",
	} {
		want = strings.Replace(want, `lat: 4807.038,"X"`, `lat: "4807.038","X"`, 1)
		if got := outcome(n.Line([]byte(line), at), nil); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// The sentences are those of the samples of gpsd, with the values that they are known to have.
func TestAIS(t *testing.T) {
	at := arrival.UnixMilli() // second 45
	const kn = 1852.0 / 3600
	for line, want := range map[string]expected{
		"!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0*5C":                         {"477553000", "2026-03-12T11:16:15Z", 47.582833, -122.345833, unknown, 0, 51, unknown, ""},
		"!AIVDM,1,1,,A,B52K>;h00Fc>jpUlNV@ikwpUoP06,0*4C":                         {"338087471", "2026-03-12T11:16:49Z", 40.68454, -74.072132, unknown, 0.1 * kn, 79.6, unknown, ""},
		"!AIVDM,1,1,,B,C5N3SRgPEnJGEBT>NhWAwwo862PaLELTBJ:V00000000S0D:R220,0*0B": {"367059850", "2026-03-12T11:16:46Z", 29.543695, -88.810392, unknown, 8.7 * kn, 335.9, unknown, `{"name":"CAPT.J.RIMES"}`},
		"!AIVDM,1,1,,B,KC5E2b@U19PFdLbMuc5=ROv62<7m,0*16":                         {"206914217", "", 4.84, 137.023333, unknown, 57 * kn, 167, unknown, ""},
	} {
		r := (&AIS{}).Line([]byte(line), at)
		want.one(t, r, nil)
	}
	south := (&AIS{}).Line([]byte("!AIVDO,1,1,,A,K01;FQh?PbtE3P00,0*75"), at)
	if p := south.Positions[0]; p.ID != "001234567" || !near(p.Lat, -50-0.73/6) || !near(p.Lon, -13-2.21/6) {
		t.Errorf("%+v", p)
	}
	// A second that would be far ahead is one of the minute before; a tag block has the minute.
	early := (&AIS{}).Line([]byte("!AIVDM,1,1,,A,B52K>;h00Fc>jpUlNV@ikwpUoP06,0*4C"), arrival.Add(-5*time.Second).UnixMilli())
	if got := time.UnixMilli(early.Positions[0].Time).UTC(); got.Minute() != 15 || got.Second() != 49 {
		t.Error(got)
	}
	// A clock may be ahead across the end of a minute.
	for payload, want := range map[string]string{"00": "11:17:00", "80": "11:17:04", ":0": "11:16:05", "N0": "11:16:15"} {
		line := withSum("!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUb" + payload + "TKH,0")
		r := (&AIS{}).Line(line, time.Date(2026, 3, 12, 11, 16, 59, 500e6, time.UTC).UnixMilli())
		if got := time.UnixMilli(r.Positions[0].Time).UTC().Format(time.TimeOnly); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	tagged := (&AIS{}).Line([]byte(`\s:rORBCOMM,c:1700000000*40\!AIVDM,1,1,,A,B52K>;h00Fc>jpUlNV@ikwpUoP06,0*4C`), at)
	if got := time.UnixMilli(tagged.Positions[0].Time).UTC().Format(time.RFC3339); got != "2023-11-14T22:12:49Z" {
		t.Error(got)
	}
	// A report that has no second has the time of the tag block, as late ones of satellites do.
	for _, line := range []string{"!AIVDM,1,1,,B,KC5E2b@U19PFdLbMuc5=ROv62<7m,0*16", string(withSum("!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUcp0TKH,0"))} {
		r := (&AIS{}).Line([]byte(`\c:1700000000*40\`+line), at)
		if len(r.Positions) != 1 || r.Positions[0].Time != 1_700_000_000_000 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	for line, want := range map[string]string{
		"!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0*5D": " checksum: 5D, the sentence has 5C",
		"$GPRMC,1": "ignored",
		"":         "ignored",
		"!AIVDM,1,1,,A,403OviQuMGCqWrRO9>E6fE700@GO,0*4D":               "ignored",
		string(withSum("!AIVDM,1,1,,B,177KQJ5000G?tO`K,0")):             "477553000 body: 96 bits, a report of type 1 has 168",
		string(withSum("!AIVDM,1,1,,B,1,0")):                            " body: 6 bits are no message",
		string(withSum("!AIVDM,1,1,,B,177KQJ50X0G?tO`K>RA1wUbN0TKH,0")): " body: 'X' is no character of a payload",
		string(withSum("!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,9")): ` body: "9" fill bits`,
		string(withSum("!AIVDM,1,2,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0")): ` body: sentence "2" of "1"`,
		string(withSum("!AIVDM,1,1,,B")):                                " body: no sentence of AIS with 7 fields",
	} {
		if got := outcome((&AIS{}).Line([]byte(line), at), nil); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// A message of two sentences is read when both are there, in order, whatever else comes between.
// Few messages wait at once.
func TestAISInParts(t *testing.T) {
	at := arrival.UnixMilli()
	a := &AIS{}
	const payload = "C5N3SRgPEnJGEBT>NhWAwwo862PaLELTBJ:V00000000S0D:R220"
	first, second := withSum("!AIVDM,2,1,3,B,"+payload[:30]+",0"), withSum("!AIVDM,2,2,3,B,"+payload[30:]+",0")
	if got := outcome(a.Line(second, at), nil); got != "ignored" {
		t.Error(got)
	}
	if got := outcome(a.Line(first, at), nil); got != "ignored" {
		t.Error(got)
	}
	// A minute later the number is that of another message, of which the first sentence was lost.
	a.Line(first, at)
	if got := outcome(a.Line(second, at+60_000), nil); got != "ignored" {
		t.Error(got)
	}
	a.Line(first, at)
	a.Line(withSum("!AIVDM,2,1,4,A,"+payload[:30]+",0"), at)
	if r := a.Line(second, at); len(r.Positions) != 1 || r.Positions[0].ID != "367059850" {
		t.Errorf("%+v", r)
	}
	a.Line([]byte(`\g:1-2-7,c:1700000000*00\`+string(first)), at)
	r := a.Line([]byte(`\g:2-2-7*00\`+string(second)), at)
	if got := time.UnixMilli(r.Positions[0].Time).UTC().Format(time.RFC3339); got != "2023-11-14T22:12:46Z" {
		t.Errorf("the time of a tag block is that of all its sentences: %s", got)
	}
	for i := range 100 {
		a.Line(withSum(fmt.Sprintf("!AIVDM,2,1,%d,A,%s,0", i, payload[:30])), at)
	}
	if len(a.parts) > maxParts || len(a.order) != len(a.parts) {
		t.Errorf("%d messages wait, %d in order", len(a.parts), len(a.order))
	}
}

func FuzzLines(f *testing.F) {
	for _, line := range []string{
		"!AIVDM,1,1,,B,C5N3SRgPEnJGEBT>NhWAwwo862PaLELTBJ:V00000000S0D:R220,0*0B", "$GPRMC,225446,A,4916.45,N,12311.12,W,000.5,054.7,191194,020.3,E*68",
		"$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47", `\c:1*40\!AIVDM,2,1,1,A,55?MbV02;H;s<HtKR20EHE:0@T4@Dn2222222216L961O5Gf0NSQEp6ClRp8,0*1C`,
		"MSG,3,5,211,4CA2D6,10057,2008/11/28,14:53:50.594,2008/11/28,14:58:51.153,,37000,,,51.45735,-1.02826,,,0,0,0,0",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, n, a := &SBS{}, &NMEA{ID: "x"}, &AIS{}
		for line := range strings.Lines(text) {
			sound(t, s.Line([]byte(line), arrival.UnixMilli()), nil)
			sound(t, n.Line([]byte(line), arrival.UnixMilli()), nil)
			sound(t, a.Line([]byte(line), arrival.UnixMilli()), nil)
			if len(line) > 1 && (line[0] == '!' || line[0] == '$') { // with the right checksum
				body, _, _ := strings.Cut(line, "*")
				sound(t, n.Line(withSum(body), arrival.UnixMilli()), nil)
				sound(t, a.Line(withSum(body), arrival.UnixMilli()), nil)
			}
		}
	})
}
