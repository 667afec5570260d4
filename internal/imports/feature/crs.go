package feature

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	crsName  = regexp.MustCompile(`^\s*([A-Za-z_]+)\s*[\[(]\s*"([^"]*)"`)
	crsDatum = regexp.MustCompile(`(?i)\b(?:DATUM|ENSEMBLE)\s*[\[(]\s*"([^"]*)"`)
	crsPrime = regexp.MustCompile(`(?i)\bPRIMEM\s*[\[(]\s*"[^"]*"\s*,\s*([-0-9.eE]+)`)
	crsUnit  = regexp.MustCompile(`(?i)\b(?:ANGLEUNIT|UNIT)\s*[\[(]\s*"[^"]*"\s*,\s*([-0-9.eE]+)`)
)

// maxCRS bounds the text of a coordinate reference system.
const maxCRS = 64 << 10

// CheckCRS refuses a coordinate reference system in WKT 1 or 2 (OGC 01-009, 18-010) other than
// longitude and latitude in WGS 84, by its name.
func CheckCRS(wkt string) error {
	if len(wkt) > maxCRS {
		return fmt.Errorf("the coordinate reference system has %d bytes, the limit is %d", len(wkt), maxCRS)
	}
	name := crsName.FindStringSubmatch(strings.TrimPrefix(wkt, "\ufeff"))
	if name == nil {
		return fmt.Errorf("%.80q is no coordinate reference system in WKT", wkt)
	}
	switch strings.ToUpper(name[1]) {
	case "GEOGCS", "GEOGCRS", "GEODCRS", "GEOGRAPHICCRS", "GEODETICCRS":
		if isWGS84(wkt) {
			return nil
		}
	}
	return OtherCRS(name[2])
}

// OtherCRS is the error of a coordinate reference system that is not read.
func OtherCRS(name string) error {
	return fmt.Errorf("the coordinate reference system is %q: coordinates must be longitude and latitude in WGS 84 (EPSG:4326, CRS84)", name)
}

// isWGS84 looks at the datum, the prime meridian and the unit of a geographic system.
func isWGS84(wkt string) bool {
	datum := crsDatum.FindStringSubmatch(wkt)
	if datum == nil {
		return false
	}
	switch plain(datum[1]) {
	case "wgs1984", "dwgs1984", "wgs84", "worldgeodeticsystem1984", "worldgeodeticsystem1984ensemble":
	default:
		return false
	}
	if prime := crsPrime.FindStringSubmatch(wkt); prime != nil {
		if f, err := strconv.ParseFloat(prime[1], 64); err != nil || f != 0 {
			return false
		}
	}
	for _, unit := range crsUnit.FindAllStringSubmatch(wkt, -1) {
		if f, err := strconv.ParseFloat(unit[1], 64); err != nil || f != 1 && (f < 0.01745329 || f > 0.0174533) {
			return false
		}
	}
	return true
}

// plain is a name in lower case without anything but letters and digits.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(name))
}
